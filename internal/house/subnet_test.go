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
		{"routes of other kinds", "blackhole 172.31.0.0/17\nunreachable 172.31.128.0/18 dev lo metric 9\nprohibit 172.31.192.0/19\n" +
			"local 172.31.224.0/20 dev lo table local\nblackhole default\nmulticast 224.0.0.0/4 dev eth0 table 7\n", "", "172.31.240.0/20"},
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

// What cannot be listed might be taken, so then nothing is printed; a network that goes while they are listed is no fault.
func TestFreeSubnetKnowsAll(t *testing.T) {
	t.Parallel()
	const none = "exit 0"
	tests := []struct{ name, ip, docker, fault string }{
		{"no daemon", none, "echo no daemon >&2; exit 1", "no daemon\nfree-subnet: Docker's networks cannot be listed:\n  set SUBNET to"},
		{"no daemon any more", none, `[ "$2" = ls ] && echo id && exit; echo gone >&2; exit 1`, "gone\nfree-subnet: Docker's networks cannot be listed:\n  set SUBNET to"},
		{"a network that goes", none, `[ "$2" = ls ] && echo a && { [ -e went ] || echo b; } && exit; touch went; echo 172.16.0.0/12; [ "$4" != b ]`, ""},
		{"no network", none, `[ "$2" = ls ]`, ""},
		{"no routes", "echo no routes >&2; exit 1", none, "no routes\nfree-subnet: the routes cannot be listed:\n  set SUBNET to"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output, err := freeSubnetWith(t, t.TempDir(), test.ip, test.docker)
			if (err != nil) != (test.fault != "") || !strings.HasPrefix(output, test.fault) {
				t.Fatalf("it is %q (%v), want the fault %q", output, err, test.fault)
			}
			if _, parseErr := netip.ParsePrefix(strings.TrimSpace(output) + ".0/24"); (parseErr == nil) != (err == nil) {
				t.Errorf("it prints %q (%v)", output, err)
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
	return freeSubnetWith(t, dir, `[ "$*" = "-4 route show table all" ] && cat routes`, `[ "$2" = ls ] && echo id || cat networks`)
}

// freeSubnetWith runs the script in dir with those programs of the shell for ip and docker.
func freeSubnetWith(t *testing.T, dir, ip, docker string) (string, error) {
	t.Helper()
	place(t, dir, "path/ip", "#!/bin/sh\n"+ip+"\n")
	place(t, dir, "path/docker", "#!/bin/sh\n"+docker+"\n")
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root(t), "scripts", "free-subnet"))
	command.Dir = dir
	command.Env = []string{"PATH=" + filepath.Join(dir, "path") + ":" + os.Getenv("PATH")}
	output, err := command.CombinedOutput()
	return string(output), err
}
