package clientip

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// The widest ranges that are trusted without a warning: one network segment of each family. Everybody inside a
// trusted range can claim any address, so a range should hold the proxies and nothing else.
const (
	widestIPv4 = 24
	widestIPv6 = 64
)

// ParseTrusted reads the proxies to trust: addresses and CIDR ranges; empty entries are skipped. The warnings, each a
// sentence, name ranges wider than /24 (IPv6: /64) and ranges written with host bits, which are cleared. The error
// names every entry that is neither an address nor a range.
func ParseTrusted(entries []string) (trusted []netip.Prefix, warnings []string, err error) {
	var faults []error
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		prefix, err := parseRange(entry)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		trusted = append(trusted, prefix.Masked())
		warnings = append(warnings, doubts(entry, prefix)...)
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	return trusted, warnings, nil
}

// parseRange reads one entry; an address is a range of one. Host bits are kept, for doubts to see.
func parseRange(entry string) (netip.Prefix, error) {
	fault := fmt.Errorf("trusted proxy %q is neither an address nor a range: write it as 10.0.0.7, 10.0.0.0/24 or 2001:db8::/64", entry)
	if !strings.Contains(entry, "/") {
		addr, err := netip.ParseAddr(entry)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fault
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(entry)
	if err != nil {
		return netip.Prefix{}, fault
	}
	return unmapPrefix(prefix), nil
}

// unmapPrefix turns a range of IPv4-mapped addresses into the IPv4 range that it means, since addresses are compared
// in their IPv4 form. A range too wide for that is left alone: it is one of IPv6 addresses.
func unmapPrefix(prefix netip.Prefix) netip.Prefix {
	const mapped = 96
	if prefix.Addr().Is4In6() && prefix.Bits() >= mapped {
		return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mapped)
	}
	return prefix
}

// doubts are the warnings about one range.
func doubts(entry string, prefix netip.Prefix) []string {
	var warnings []string
	if prefix != prefix.Masked() {
		warnings = append(warnings, fmt.Sprintf("trusted proxy %s has bits set behind its prefix: %s is trusted as a whole", entry, prefix.Masked()))
	}
	widest := widestIPv6
	if prefix.Addr().Is4() {
		widest = widestIPv4
	}
	if prefix.Bits() < widest {
		warnings = append(warnings, fmt.Sprintf(
			"trusted range %s is wider than /%d: every host in it can claim any client address; name only the proxies", entry, widest))
	}
	return warnings
}
