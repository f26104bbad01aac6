package clientip_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/internal/clientip"
)

func TestParseTrusted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []string
		want    []string
		warns   []string // a piece of each warning, in order
	}{
		{"none", nil, nil, nil},
		{"empty entries", []string{"", "  "}, nil, nil},
		{"an address", []string{" 10.0.0.7 "}, []string{"10.0.0.7/32"}, nil},
		{"an IPv6 address", []string{"2001:DB8::7"}, []string{"2001:db8::7/128"}, nil},
		{"ranges", []string{"10.0.0.0/24", "2001:db8::/64"}, []string{"10.0.0.0/24", "2001:db8::/64"}, nil},
		{"a mapped address", []string{"::ffff:10.0.0.7"}, []string{"10.0.0.7/32"}, nil},
		{"a mapped range", []string{"::ffff:10.0.0.0/120"}, []string{"10.0.0.0/24"}, nil},
		{"wider than /24", []string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}, []string{"10.0.0.0/8 is wider than /24"}},
		{"everybody", []string{"0.0.0.0/0", "::/0"}, []string{"0.0.0.0/0", "::/0"}, []string{"0.0.0.0/0 is wider", "::/0 is wider"}},
		{"a wide mapped range", []string{"::ffff:10.0.0.0/104"}, []string{"10.0.0.0/8"}, []string{"wider than /24"}},
		{"wider than /64", []string{"2001:db8::/63"}, []string{"2001:db8::/63"}, []string{"wider than /64"}},
		{"host bits", []string{"10.0.0.7/24"}, []string{"10.0.0.0/24"}, []string{"10.0.0.0/24 is trusted as a whole"}},
		{"host bits and wide", []string{"10.0.0.7/8"}, []string{"10.0.0.0/8"}, []string{"trusted as a whole", "wider than /24"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			trusted, warnings, err := clientip.ParseTrusted(test.entries)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(trusted); !slices.Equal(got, test.want) {
				t.Errorf("trusted %v, want %v", got, test.want)
			}
			if len(warnings) != len(test.warns) {
				t.Fatalf("warnings %q, want %d", warnings, len(test.warns))
			}
			for i, piece := range test.warns {
				if !strings.Contains(warnings[i], piece) {
					t.Errorf("warning %q does not say %q", warnings[i], piece)
				}
			}
		})
	}
}

func TestParseTrustedNamesEveryFault(t *testing.T) {
	t.Parallel()
	bad := []string{"proxy.internal", "10.0.0.0/33", "10.0.0", "10.0.0.1:80", "fe80::1%eth0", "fe80::%eth0/64", "10.0.0.0/", "/24", "*"}
	trusted, warnings, err := clientip.ParseTrusted(append([]string{"10.0.0.0/8"}, bad...))
	if err == nil || trusted != nil || warnings != nil {
		t.Fatalf("ParseTrusted = %v, %v, %v; want only an error", trusted, warnings, err)
	}
	for _, entry := range bad {
		if !strings.Contains(err.Error(), `"`+entry+`"`) {
			t.Errorf("the error does not name %q: %v", entry, err)
		}
	}
	if strings.Contains(err.Error(), `"10.0.0.0/8"`) {
		t.Errorf("the error names a good entry: %v", err)
	}
}

func texts(prefixes []netip.Prefix) []string {
	var texts []string
	for _, prefix := range prefixes {
		texts = append(texts, prefix.String())
	}
	return texts
}
