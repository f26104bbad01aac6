// Package clientip says which address a request came from, through trusted proxies, and which key an address is
// counted under.
//
// X-Forwarded-For is written by anyone, so it counts only when the direct peer is a trusted proxy, and then it is read
// from the right: each proxy appends the peer it saw, so the rightmost address that is not a trusted proxy is the last
// one that somebody trustworthy has seen. Whatever stands left of it is the client's own claim and is never read.
//
// An address is counted as what one subscriber holds: an IPv4 address, or an IPv6 network (a /64 unless configured
// otherwise), because one customer's /64 has more addresses than a limiter could ever count. IPv4-mapped and NAT64
// addresses are counted as the IPv4 address that they carry. 6to4 and Teredo are not decoded: both are retired, and
// their addresses are counted by network like any other.
package clientip

import (
	"fmt"
	"net/netip"
)

// DefaultIPv6Prefix is the length of the IPv6 network that one key stands for: what a subscriber is given at least.
const DefaultIPv6Prefix = 64

// MinIPv6Prefix is the shortest accepted length. Providers themselves are given a /32, so a shorter one would put
// strangers of different providers into one bucket.
const MinIPv6Prefix = 32

// UnreadableKey is the one key of all requests whose address cannot be read. It is not an address, so it collides
// with none, and it is never empty, so such requests are counted and not let past.
const UnreadableKey = "unreadable"

// maxKey is the length of the longest key, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128".
const maxKey = 43

// Config is what a Resolver depends on.
type Config struct {
	Trusted    []netip.Prefix // the proxies whose X-Forwarded-For counts, as ParseTrusted gives them; none: it never does
	IPv6Prefix int            // 32 to 128 bits; 0 means DefaultIPv6Prefix
}

// A Resolver reads addresses. It is immutable and safe for concurrent use.
type Resolver struct {
	trusted    []netip.Prefix
	ipv6Prefix int
}

// A Client is where a request came from.
type Client struct {
	Addr      netip.Addr // without zone, IPv4 where it carries IPv4; the zero Addr if unreadable
	Key       string     // what is counted: "203.0.113.9", "2001:db8:0:1::/64" or UnreadableKey
	Readable  bool       // false: the peer's address could not be read, Key is shared
	Forwarded bool       // true: the address is what a trusted proxy reported, false: the peer's own
}

// New returns a Resolver, or an error if the configuration makes no sense.
func New(config Config) (*Resolver, error) {
	bits := config.IPv6Prefix
	if bits == 0 {
		bits = DefaultIPv6Prefix
	}
	if bits < MinIPv6Prefix || bits > 128 {
		return nil, fmt.Errorf("IPv6 prefix of %d bits: use %d to 128, %d is usual", bits, MinIPv6Prefix, DefaultIPv6Prefix)
	}
	r := &Resolver{ipv6Prefix: bits}
	for _, prefix := range config.Trusted {
		if !prefix.IsValid() {
			return nil, fmt.Errorf("trusted proxy %v is not a range of addresses", prefix)
		}
		r.trusted = append(r.trusted, unmapPrefix(prefix).Masked())
	}
	return r, nil
}

// Resolve says where a request came from, given http.Request.RemoteAddr and the lines of its X-Forwarded-For headers
// in the order in which they arrived. It never fails: what cannot be read shares UnreadableKey. Its work is bounded
// however long the header is, and it allocates nothing but the key.
func (r *Resolver) Resolve(remoteAddr string, forwardedFor []string) Client {
	peer, ok := parse(remoteAddr)
	if !ok {
		return Client{Key: UnreadableKey}
	}
	addr, forwarded := peer, false
	if len(forwardedFor) > 0 && r.trusts(peer) {
		addr, forwarded = r.walk(peer, forwardedFor)
	}
	addr = carried(addr)
	return Client{Addr: addr, Key: r.key(addr), Readable: true, Forwarded: forwarded}
}

// Key is what an address is counted under, as Resolve says of it; a key, in whatever spelling, is its own. It is false if
// the text is neither.
func (r *Resolver) Key(address string) (string, bool) {
	if address == UnreadableKey {
		return UnreadableKey, true
	}
	if network, err := netip.ParsePrefix(address); err == nil {
		key := r.key(network.Addr())
		return key, key == network.Masked().String()
	}
	addr, ok := parse(address)
	if !ok {
		return "", false
	}
	return r.key(carried(addr)), true
}

// Trusts reports whether the direct peer is a trusted proxy, so that what it says about a request may be believed.
func (r *Resolver) Trusts(remoteAddr string) bool {
	peer, ok := parse(remoteAddr)
	return ok && r.trusts(peer)
}

// walk follows the hops from the nearest to the farthest and returns the first that is not trusted. It ends at the
// last good one at a hop that is no address, and at the farthest if all are trusted. The second result is false if no
// hop could be read, so that the address is still the peer's.
func (r *Resolver) walk(peer netip.Addr, lines []string) (netip.Addr, bool) {
	last, forwarded := peer, false
	for hop := range hops(lines) {
		addr, ok := parse(hop)
		if !ok {
			break
		}
		last, forwarded = addr, true
		if !r.trusts(addr) {
			break
		}
	}
	return last, forwarded
}

// trusts compares with the ranges as they were written. Only the IPv4-mapped form, a spelling of dual-stack sockets,
// is the same address here: a NAT64 address belongs to a translator, and is trusted only if its own range is.
func (r *Resolver) trusts(addr netip.Addr) bool {
	for _, prefix := range r.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// key renders what an address is counted under, at most maxKey bytes and canonical: two spellings of one address, or two
// addresses of one IPv6 network, have equal keys.
func (r *Resolver) key(addr netip.Addr) string {
	if addr.Is4() {
		return addr.String()
	}
	network, err := addr.Prefix(r.ipv6Prefix)
	if err != nil { // impossible: New has checked the length
		return UnreadableKey
	}
	var text [maxKey]byte
	return string(network.AppendTo(text[:0]))
}
