package clientip

import (
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxHop bounds one entry of the header in bytes, white space included. The longest address is 45 bytes; the rest is
// room for quotes, brackets, a zone and a port. A longer entry is garbage.
const maxHop = 128

// maxHops bounds the walk. No real chain of proxies is near it; a longer one ends at the last hop that was read.
const maxHops = 128

// hops yields the entries of all lines joined, from the right, trimmed and without copying anything. Empty entries
// are skipped, as RFC 9110 section 5.6.1 asks of readers of lists: they say nothing about any hop.
func hops(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := maxHops
		for _, line := range slices.Backward(lines) {
			rest, more := line, true
			for more {
				if left--; left < 0 {
					return
				}
				var hop string
				rest, hop, more = cutLast(rest)
				if hop != "" && !yield(hop) {
					return
				}
			}
		}
	}
}

// cutLast splits the last entry off a list. It looks at no more than maxHop bytes: an entry that is longer is yielded
// cut, one byte too long, which parse refuses.
func cutLast(list string) (rest, entry string, more bool) {
	tail := max(0, len(list)-maxHop-1)
	comma := strings.LastIndexByte(list[tail:], ',')
	if comma >= 0 {
		return list[:tail+comma], trim(list[tail+comma+1:]), true
	}
	if tail > 0 {
		return "", list[tail:], false
	}
	return "", trim(list), false
}

// trim drops the optional white space of RFC 9110.
func trim(s string) string {
	return strings.Trim(s, " \t")
}

// parse reads an address as sockets and proxies write it: with or without a port, brackets, a zone, quotes, in either
// case. Port and zone are checked and dropped, and an IPv4-mapped address becomes IPv4.
func parse(s string) (netip.Addr, bool) {
	if s == "" || len(s) > maxHop {
		return netip.Addr{}, false
	}
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	host, ok := withoutPort(s)
	if !ok {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.WithZone("").Unmap(), true
}

// withoutPort returns the host of "host", "host:port", "[host]" and "[host]:port". Brackets mark IPv6 and nothing else;
// without them two colons or more are IPv6 without a port.
func withoutPort(s string) (string, bool) {
	if s[:1] == "[" {
		host, after, closed := strings.Cut(s[1:], "]")
		v6 := strings.IndexByte(host, ':') >= 0
		return host, closed && v6 && (after == "" || after[0] == ':' && isPort(after[1:]))
	}
	host, port, found := strings.Cut(s, ":")
	if !found {
		return s, true
	}
	if strings.IndexByte(port, ':') >= 0 {
		return s, true
	}
	return host, isPort(port)
}

// isPort reports whether s is a port number in decimal digits.
func isPort(s string) bool {
	if s == "" || len(s) > 5 {
		return false
	}
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// carried returns the IPv4 address inside a NAT64 address, else the address itself. The well-known prefix 64:ff9b::/96
// (RFC 6052) carries it in the last four bytes. So do networks of 96 bits inside the local-use 64:ff9b:1::/48 (RFC
// 8215) whose bytes 8 to 11 are zero, which is how they are commonly laid out; an operator's other layouts cannot be
// told apart, so their addresses stay IPv6.
func carried(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	wellKnown := [12]byte{0, 0x64, 0xff, 0x9b}
	localUse := [6]byte{0, 0x64, 0xff, 0x9b, 0, 1}
	isWellKnown := [12]byte(b[:12]) == wellKnown
	isLocalUse := [6]byte(b[:6]) == localUse && [4]byte(b[8:12]) == [4]byte{}
	if isWellKnown || isLocalUse {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}
