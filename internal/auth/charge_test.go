package auth

import (
	"bytes"
	"testing"
)

func TestChargeIsSealed(t *testing.T) {
	t.Parallel()
	charge := []byte("what 203.0.113.7 was charged")
	sealed, err := sealCharge("state", charge)
	if err != nil || bytes.Contains(sealed, []byte("203.0.113.7")) {
		t.Fatalf("sealed is %q, %v", sealed, err)
	}
	if got := openCharge("state", sealed); !bytes.Equal(got, charge) {
		t.Errorf("opened is %q", got)
	}
	damaged := bytes.Clone(sealed)
	damaged[0]++
	for name, got := range map[string][]byte{
		"another state": openCharge("other", sealed), "damaged": openCharge("state", damaged), "none": openCharge("state", nil),
	} {
		if got != nil {
			t.Errorf("%s: opened %q", name, got)
		}
	}
	if sealed, err := sealCharge("state", nil); sealed != nil || err != nil {
		t.Errorf("nothing sealed is %q, %v", sealed, err)
	}
}
