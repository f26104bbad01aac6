package clientip_test

import (
	"net/netip"
	"strings"
	"testing"

	"example.com/gatehouse/internal/clientip"
)

// FuzzResolve holds the promises that no table can: no input panics, an untrusted peer's header changes nothing, keys
// are canonical and bounded, and the walk equals a plain one over the joined list.
func FuzzResolve(f *testing.F) {
	f.Add("10.0.0.1:1", "6.6.6.6, 203.0.113.9", "10.0.0.2")
	f.Add("203.0.113.9:1", "6.6.6.6", "")
	f.Add("[::ffff:10.0.0.1%eth0]:1", `"[2001:DB8::1]:1"`, ",,")
	f.Add("[64:ff9b:1::1.2.3.4]:1", "unknown", "10.0.0.3,10.0.0.2")
	f.Add("@", "1.2.3.4", "1.2.3.4:80")
	f.Add("10.0.0.1:1", "1.1.1.1,"+strings.Repeat(" ", 130), "[")
	f.Add("10.0.0.1:1", strings.Repeat("10.0.0.2,", 200), "\x00, \xff")
	trusted, _, err := clientip.ParseTrusted([]string{"10.0.0.0/24", "2001:db8:ffff::/64"})
	if err != nil {
		f.Fatal(err)
	}
	resolver, err := clientip.New(clientip.Config{Trusted: trusted})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, remoteAddr, first, second string) {
		lines := []string{first, second}
		got := resolver.Resolve(remoteAddr, lines)
		checkKey(t, resolver, got)
		if !resolver.Trusts(remoteAddr) {
			if plain := resolver.Resolve(remoteAddr, nil); got != plain {
				t.Fatalf("an untrusted peer's header changed %+v to %+v", plain, got)
			}
			return
		}
		if want := plainWalk(resolver, remoteAddr, lines); got.Key != want {
			t.Fatalf("Resolve(%q, %q) = %+v, a plain walk gives %s", remoteAddr, lines, got, want)
		}
	})
}

// checkKey: a key stands for its address and nothing else, and is what the key itself resolves to.
func checkKey(t *testing.T, resolver *clientip.Resolver, client clientip.Client) {
	t.Helper()
	if !client.Readable {
		if client != (clientip.Client{Key: clientip.UnreadableKey}) {
			t.Fatalf("an unreadable client is %+v", client)
		}
		return
	}
	if len(client.Key) > len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128") || client.Addr.Zone() != "" || client.Addr.Is4In6() {
		t.Fatalf("not canonical: %+v", client)
	}
	network, err := netip.ParsePrefix(client.Key)
	if client.Addr.Is4() {
		network, err = client.Addr.Prefix(32)
	}
	if err != nil || !network.Contains(client.Addr) {
		t.Fatalf("the key %s does not hold %s: %v", client.Key, client.Addr, err)
	}
	if again := resolver.Resolve(client.Addr.String(), nil); again.Key != client.Key {
		t.Fatalf("the key of %s is %s, then %s", client.Addr, client.Key, again.Key)
	}
}

// plainWalk is the rule of the package comment, written without any care for cost. Whether a hop can be read and is
// trusted it asks of the resolver; what is tested is the walk.
func plainWalk(resolver *clientip.Resolver, peer string, lines []string) string {
	last := resolver.Resolve(peer, nil).Key
	entries := strings.Split(strings.Join(lines, ","), ",")
	for read := 0; read < len(entries) && read < 128; read++ {
		entry := entries[len(entries)-1-read]
		hop := strings.Trim(entry, " \t")
		if hop == "" && len(entry) <= 128 {
			continue
		}
		client := resolver.Resolve(hop, nil)
		if !client.Readable || len(entry) > 128 {
			return last
		}
		last = client.Key
		if !resolver.Trusts(hop) {
			return last
		}
	}
	return last
}
