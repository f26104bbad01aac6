package house

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The containers' network is one that nothing has: neither a route nor a network of Docker's, be it wider or narrower.
func TestFreeSubnet(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 256 {
		fmt.Fprintf(&all, "172.31.%d.0/24\n", i)
	}
	tests := []struct{ name, routes, docker, want string }{ // want: where it lies; none: empty
		{"nothing there", "default via 10.0.0.1\n10.0.0.0/24 dev eth0\n", "172.17.0.0/16\n", "172.31.0.0/16"},
		{"a network of Docker's over all of the first", "", "172.16.0.0/12\nfd00::/64\n", "10.231.0.0/16"},
		{"each of the first", "", all.String(), "10.231.0.0/16"},
		{"a half by a route, a half by Docker", "172.31.0.0/17 dev vpn\n10.231.0.0/16 dev vpn\n", "172.31.128.0/18\n172.31.192.0/19\n172.31.224.0/20\n", "172.31.240.0/20"},
		{"narrower ones", "172.31.0.0/17 dev a\n172.31.128.0/18 dev b\n172.31.192.0/19 dev c\n172.31.224.0/20 dev d\n172.31.240.0/21 dev e\n" +
			"172.31.248.0/22 dev f\n172.31.252.0/23 dev g\n172.31.254.7 dev h\n", "", "172.31.255.0/24"},
		{"a tunnel for everything", "0.0.0.0/1 dev tun\n128.0.0.0/1 dev tun\n", "", "172.31.0.0/16"},
		{"nothing left", "172.16.0.0/12 dev a\n10.0.0.0/8 dev b\n192.168.0.0/16 dev c\n", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output, err := freeSubnet(t, test.routes, test.docker)
			if test.want == "" {
				if err == nil || !strings.Contains(output, "set SUBNET to") {
					t.Errorf("where nothing is free: %q, %v", output, err)
				}
				return
			}
			network, parseErr := netip.ParsePrefix(strings.TrimSpace(output) + ".0/24")
			if err != nil || parseErr != nil || !netip.MustParsePrefix(test.want).Overlaps(network) || netip.MustParsePrefix(test.want).Bits() > network.Bits() {
				t.Errorf("it is %q (%v), want one of %s", output, err, test.want)
			}
		})
	}
}

// freeSubnet runs the script where programs say that those routes and networks are there.
func freeSubnet(t *testing.T, routes, docker string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	place(t, dir, "routes", routes)
	place(t, dir, "networks", docker)
	place(t, dir, "path/ip", "#!/bin/sh\ncat "+filepath.Join(dir, "routes")+"\n")
	place(t, dir, "path/docker", "#!/bin/sh\n[ \"$2\" = ls ] && echo id || cat "+filepath.Join(dir, "networks")+"\n")
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root(t), "scripts", "free-subnet"))
	command.Env = []string{"PATH=" + filepath.Join(dir, "path") + ":" + os.Getenv("PATH")}
	output, err := command.CombinedOutput()
	return string(output), err
}
