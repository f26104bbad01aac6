package clientip_test

import (
	"net/netip"
	"strings"
	"testing"

	"example.com/gatehouse/internal/clientip"
)

// proxies are the trusted ranges of these tests: two networks, a single address, and one of IPv6.
func proxies(t *testing.T) *clientip.Resolver {
	t.Helper()
	trusted, warnings, err := clientip.ParseTrusted([]string{"10.0.0.0/24", "192.0.2.7", "2001:db8:ffff::/64", "::ffff:10.9.9.0/120"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("ParseTrusted: %v, %v", warnings, err)
	}
	return newResolver(t, clientip.Config{Trusted: trusted})
}

func newResolver(t *testing.T, config clientip.Config) *clientip.Resolver {
	t.Helper()
	resolver, err := clientip.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return resolver
}

func TestKeyOfThePeer(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, remoteAddr, addr, key string }{
		{"IPv4", "203.0.113.9:51234", "203.0.113.9", "203.0.113.9"},
		{"IPv4 without a port", "203.0.113.9", "203.0.113.9", "203.0.113.9"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"IPv6 bare", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"IPv6 in brackets without a port", "[2001:db8::1]", "2001:db8::1", "2001:db8::/64"},
		{"IPv6 in upper case", "[2001:DB8:A:B::C]:1", "2001:db8:a:b::c", "2001:db8:a:b::/64"},
		{"IPv6 written out", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1", "2001:db8::/64"},
		{"zone and port", "[fe80::1%eth0]:1", "fe80::1", "fe80::/64"},
		{"zone", "fe80::1%en0", "fe80::1", "fe80::/64"},
		{"loopback", "[::1]:1", "::1", "::/64"},
		{"IPv4-mapped", "[::ffff:1.2.3.4]:80", "1.2.3.4", "1.2.3.4"},
		{"IPv4-mapped in hexadecimal", "::FFFF:102:304", "1.2.3.4", "1.2.3.4"},
		{"IPv4-mapped with a zone", "[::ffff:1.2.3.4%eth0]:80", "1.2.3.4", "1.2.3.4"},
		{"NAT64", "[64:ff9b::1.2.3.4]:80", "1.2.3.4", "1.2.3.4"},
		{"NAT64 in hexadecimal", "64:ff9b::102:304", "1.2.3.4", "1.2.3.4"},
		{"NAT64 for local use", "64:ff9b:1:abcd::1.2.3.4", "1.2.3.4", "1.2.3.4"},
		{"NAT64 for local use, network zero", "64:ff9b:1::1.2.3.4", "1.2.3.4", "1.2.3.4"},
		{"local use in a layout of its own", "64:ff9b:1:102:3:400::", "64:ff9b:1:102:3:400::", "64:ff9b:1:102::/64"},
		{"beside NAT64", "64:ff9b:0:1::1.2.3.4", "64:ff9b:0:1::102:304", "64:ff9b:0:1::/64"},
		{"beside NAT64 for local use", "64:ff9b:2::1.2.3.4", "64:ff9b:2::102:304", "64:ff9b:2::/64"},
		{"6to4 is counted by network", "2002:102:304:5::6", "2002:102:304:5::6", "2002:102:304:5::/64"},
		{"IPv4-compatible is not IPv4", "::1.2.3.4", "::102:304", "::/64"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := newResolver(t, clientip.Config{}).Resolve(test.remoteAddr, nil)
			want := clientip.Client{Addr: netip.MustParseAddr(test.addr), Key: test.key, Readable: true}
			if got != want {
				t.Errorf("Resolve(%q) = %+v, want %+v", test.remoteAddr, got, want)
			}
		})
	}
}

func TestUnreadablePeersShareOneKey(t *testing.T) {
	t.Parallel()
	tests := []string{
		"", "@", "@/run/app.sock", "pipe", "localhost:80", "unknown", "_hidden", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1",
		"1.2.3.4:", "1.2.3.4:http", "1.2.3.4:65536", "1.2.3.4:+80", "1.2.3.4:000080", "1.2.3.4%eth0", ":80", ":::", "fe80::1%",
		"[", "[]", "[]:80", "[::1", "::1]", "[::1]80", "[::1]:", "[1.2.3.4]:80", "[localhost]:80", "[[::1]]:80", `"`, `""`, `"1.2.3.4`,
		" 1.2.3.4", "1.2.3.4 ", "1.2.3.4,5.6.7.8", "1.2.3.4/32", "::1/128", "1.2.3.4\x00", "1.2.3.4\r\n", "\xff\xfe", "１.２.３.４",
		strings.Repeat("1", 1<<16), "fe80::1%" + strings.Repeat("z", 1<<16),
	}
	resolver := proxies(t)
	for _, remoteAddr := range tests {
		got := resolver.Resolve(remoteAddr, []string{"203.0.113.9"})
		if want := (clientip.Client{Key: clientip.UnreadableKey}); got != want {
			t.Errorf("Resolve(%.60q) = %+v, want %+v", remoteAddr, got, want)
		}
		if resolver.Trusts(remoteAddr) {
			t.Errorf("Trusts(%.60q) is true", remoteAddr)
		}
	}
}

func TestWalkThroughProxies(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:40000"
	tests := []struct {
		name, remoteAddr string
		lines            []string
		key              string
		forwarded        bool
	}{
		{"an untrusted peer is the client", "198.51.100.1:1", []string{"6.6.6.6"}, "198.51.100.1", false},
		{"an untrusted peer that names a proxy", "198.51.100.1:1", []string{"6.6.6.6, 10.0.0.1"}, "198.51.100.1", false},
		{"no header", proxy, nil, "10.0.0.1", false},
		{"an empty header", proxy, []string{""}, "10.0.0.1", false},
		{"one hop", proxy, []string{"203.0.113.9"}, "203.0.113.9", true},
		{"a forged hop on the left", proxy, []string{"6.6.6.6, 203.0.113.9"}, "203.0.113.9", true},
		{"forged garbage on the left", proxy, []string{"<script>, 203.0.113.9"}, "203.0.113.9", true},
		{"two lines are one list", proxy, []string{"6.6.6.6", "203.0.113.9"}, "203.0.113.9", true},
		{"two lines in order", proxy, []string{"6.6.6.6, 203.0.113.9", "10.0.0.2, 192.0.2.7"}, "203.0.113.9", true},
		{"the last line is only proxies", proxy, []string{"203.0.113.9", "10.0.0.2"}, "203.0.113.9", true},
		{"trusted hops are skipped", proxy, []string{"203.0.113.9, 192.0.2.7, 10.0.0.2"}, "203.0.113.9", true},
		{"a forged trusted hop", proxy, []string{"10.0.0.3, 203.0.113.9"}, "203.0.113.9", true},
		{"all trusted: the leftmost", proxy, []string{"10.0.0.3, 192.0.2.7, 10.0.0.2"}, "10.0.0.3", true},
		{"all trusted over two lines", proxy, []string{"10.0.0.3", "10.0.0.2"}, "10.0.0.3", true},
		{"garbage next to the peer", proxy, []string{"203.0.113.9, unknown"}, "10.0.0.1", false},
		{"garbage behind a trusted hop", proxy, []string{"203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2", true},
		{"garbage line", proxy, []string{"203.0.113.9", "?"}, "10.0.0.1", false},
		{"empty entries", proxy, []string{", ,203.0.113.9,, \t,"}, "203.0.113.9", true},
		{"empty lines", proxy, []string{"", "203.0.113.9", ""}, "203.0.113.9", true},
		{"only commas", proxy, []string{",,,", ","}, "10.0.0.1", false},
		{"tabs and blanks", proxy, []string{"6.6.6.6,\t 203.0.113.9 \t"}, "203.0.113.9", true},
		{"a hop with a port", proxy, []string{"203.0.113.9:80"}, "203.0.113.9", true},
		{"a hop in quotes", proxy, []string{`"[2001:db8::1]:1"`}, "2001:db8::/64", true},
		{"a hop with a zone", proxy, []string{"[fe80::1%eth0]:1"}, "fe80::/64", true},
		{"a mapped hop", proxy, []string{"::ffff:203.0.113.9"}, "203.0.113.9", true},
		{"a NAT64 hop", proxy, []string{"64:ff9b::203.0.113.9"}, "203.0.113.9", true},
		{"a mapped trusted hop", proxy, []string{"203.0.113.9, ::ffff:10.0.0.2"}, "203.0.113.9", true},
		{"a NAT64 form of a proxy is not that proxy", proxy, []string{"203.0.113.9, 64:ff9b::10.0.0.2"}, "10.0.0.2", true},
		{"a mapped trusted peer", "[::ffff:10.0.0.1]:1", []string{"203.0.113.9"}, "203.0.113.9", true},
		{"a range written as mapped", "10.9.9.9:1", []string{"203.0.113.9"}, "203.0.113.9", true},
		{"an IPv6 proxy", "[2001:db8:ffff::5]:1", []string{"2001:DB8:1::9"}, "2001:db8:1::/64", true},
		{"beside a trusted range", "10.0.1.1:1", []string{"203.0.113.9"}, "10.0.1.1", false},
		{"beside a trusted address", "192.0.2.8:1", []string{"203.0.113.9"}, "192.0.2.8", false},
		{"an entry too long", proxy, []string{"203.0.113.9," + strings.Repeat("x", 1<<16)}, "10.0.0.1", false},
		{"an address in too much space", proxy, []string{"203.0.113.9" + strings.Repeat(" ", 200)}, "10.0.0.1", false},
		{"as long as an entry may be", proxy, []string{"6.6.6.6," + strings.Repeat(" ", 128-11) + "203.0.113.9"}, "203.0.113.9", true},
		{"one longer", proxy, []string{"6.6.6.6," + strings.Repeat(" ", 129-11) + "203.0.113.9"}, "10.0.0.1", false},
		{"more hops than are read", proxy, []string{"203.0.113.9" + strings.Repeat(",10.0.0.2", 1<<13)}, "10.0.0.2", true},
		{"more empty entries than are read", proxy, []string{"203.0.113.9" + strings.Repeat(",", 1<<16)}, "10.0.0.1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := proxies(t).Resolve(test.remoteAddr, test.lines)
			if got.Key != test.key || got.Forwarded != test.forwarded || !got.Readable {
				t.Errorf("Resolve(%q, %.80q) = %+v, want key %s, forwarded %t", test.remoteAddr, test.lines, got, test.key, test.forwarded)
			}
		})
	}
}

func TestNobodyIsTrustedUnlessNamed(t *testing.T) {
	t.Parallel()
	resolver := newResolver(t, clientip.Config{})
	for _, remoteAddr := range []string{"127.0.0.1:1", "[::1]:1", "10.0.0.1:1"} {
		if got := resolver.Resolve(remoteAddr, []string{"6.6.6.6"}); got.Forwarded {
			t.Errorf("Resolve(%s) believes the header: %+v", remoteAddr, got)
		}
	}
}

func TestTrusts(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"10.0.0.255:1": true, "[::ffff:10.0.0.1]:1": true, "192.0.2.7:1": true, "[2001:db8:ffff::1%eth0]:1": true,
		"10.0.1.0:1": false, "[64:ff9b::10.0.0.1]:1": false, "[2001:db8:fffe::1]:1": false,
	}
	for remoteAddr, want := range tests {
		if got := proxies(t).Trusts(remoteAddr); got != want {
			t.Errorf("Trusts(%s) = %t, want %t", remoteAddr, got, want)
		}
	}
}

func TestIPv6PrefixIsConfigurable(t *testing.T) {
	t.Parallel()
	for bits, want := range map[int]string{32: "2001:db8::/32", 48: "2001:db8:1::/48", 56: "2001:db8:1:200::/56", 128: "2001:db8:1:203::4/128"} {
		resolver := newResolver(t, clientip.Config{IPv6Prefix: bits})
		if got := resolver.Resolve("[2001:db8:1:203::4]:1", nil); got.Key != want {
			t.Errorf("/%d: key %s, want %s", bits, got.Key, want)
		}
		if got := resolver.Resolve("203.0.113.9:1", nil); got.Key != "203.0.113.9" {
			t.Errorf("/%d: the key of an IPv4 address is %s", bits, got.Key)
		}
	}
	for _, bits := range []int{-1, 1, 31, 129} {
		if _, err := clientip.New(clientip.Config{IPv6Prefix: bits}); err == nil {
			t.Errorf("a prefix of %d bits is accepted", bits)
		}
	}
}

func TestNewRefusesAnInvalidRange(t *testing.T) {
	t.Parallel()
	if _, err := clientip.New(clientip.Config{Trusted: []netip.Prefix{{}}}); err == nil {
		t.Error("the zero prefix is accepted")
	}
}

// TestOneNetworkIsOneKey: an attacker with a whole /64 has one budget, and a neighbouring /64 is independent of it.
func TestOneNetworkIsOneKey(t *testing.T) {
	t.Parallel()
	resolver := newResolver(t, clientip.Config{})
	keys := map[string]bool{}
	addr := netip.MustParseAddr("2001:db8:0:1::")
	for range 101 {
		keys[resolver.Resolve(netip.AddrPortFrom(addr, 443).String(), nil).Key] = true
		addr = addr.Next()
	}
	if len(keys) != 1 {
		t.Errorf("101 addresses of one /64 have %d keys", len(keys))
	}
	if keys[resolver.Resolve("[2001:db8:0:2::]:443", nil).Key] {
		t.Error("another /64 has the same key")
	}
}

// What an address is counted under can be asked about in its place, in whatever spelling; another network is no key.
func TestKeysAreTheirOwn(t *testing.T) {
	t.Parallel()
	r, err := clientip.New(clientip.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9", "2001:db8::1": "2001:db8::/64", "2001:db8::": "2001:db8::/64",
		"2001:db8::/64": "2001:db8::/64", "2001:DB8:0::1/64": "2001:db8::/64", clientip.UnreadableKey: clientip.UnreadableKey,
		"2001:db8::/48": "", "2001:db8::/128": "", "203.0.113.9/32": "", "203.0.113.0/24": "", "::ffff:203.0.113.9/64": "::/64", "nowhere": "", "": "",
	} {
		key, ok := r.Key(text)
		if ok != (want != "") || ok && key != want {
			t.Errorf("%q is counted under %q, %v, want %q", text, key, ok, want)
		}
		if again, ok := r.Key(key); want != "" && (!ok || again != key) {
			t.Errorf("%q is counted under %q, %v", key, again, ok)
		}
	}
}

func TestResolveAllocatesOnlyTheKey(t *testing.T) {
	resolver := proxies(t)
	lines := []string{"6.6.6.6", "2001:db8::1, 10.0.0.2"}
	tests := map[string]func() clientip.Client{
		"plain IPv4": func() clientip.Client { return resolver.Resolve("203.0.113.9:51234", nil) },
		"plain IPv6": func() clientip.Client { return resolver.Resolve("[2001:db8::1]:51234", nil) },
		"forwarded":  func() clientip.Client { return resolver.Resolve("10.0.0.1:51234", lines) },
	}
	for name, resolve := range tests {
		var client clientip.Client
		if allocs := testing.AllocsPerRun(100, func() { client = resolve() }); allocs > 1 {
			t.Errorf("%s: %v allocations, want at most 1", name, allocs)
		}
		if !client.Readable {
			t.Errorf("%s: unreadable", name)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	trusted, _, err := clientip.ParseTrusted([]string{"10.0.0.0/24"})
	if err != nil {
		b.Fatal(err)
	}
	resolver, err := clientip.New(clientip.Config{Trusted: trusted})
	if err != nil {
		b.Fatal(err)
	}
	headers := map[string][]string{
		"plain":     nil,
		"forwarded": {"6.6.6.6, 203.0.113.9, 10.0.0.2"},
		"hostile":   {strings.Repeat("10.0.0.2,", 1<<16/9)},
		"commas":    {strings.Repeat(",", 1<<16)},
		"one entry": {strings.Repeat("1", 1<<16)},
	}
	for name, lines := range headers {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resolver.Resolve("10.0.0.1:51234", lines)
			}
		})
	}
}
