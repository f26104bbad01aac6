package redis

// slotCount is how many hash slots a Redis Cluster has.
const slotCount = 16384

// slotOf is the cluster's hash slot of a tag: CRC-16/XMODEM, as the cluster specification has it.
func slotOf(tag string) int {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

// tagOf is what a key has between the braces.
func tagOf(key string) string { return key[len(prefix) : len(prefix)+encodedTag] }
