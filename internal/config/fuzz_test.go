package config

import (
	"strings"
	"testing"
)

// FuzzLoad sets every setting to the same text: nothing panics, what is accepted is printed and read again alike, and
// no fault quotes the URL of a database, which holds a password.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"", "development", "1", "24h", ":8080", "https://a.example.com", "postgres://u:hunter2@h/d", "redis://hunter2@h:1", "10.0.0.0/8", "a,b c", "%", "\x00", "[::1]:0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range settings(new(Config)) {
			checkSetting(t, s, text)
		}
		_, err := Load(func(string) string { return text })
		if err != nil && strings.Contains(err.Error(), "DATABASE_URL=\"") {
			t.Fatalf("the fault shows a database's URL: %v", err)
		}
	})
}

// checkSetting holds that a setting's printed value means the same as the value it was given, secrets aside.
func checkSetting(t *testing.T, s setting, text string) {
	t.Helper()
	if s.value.set(text) != nil || s.value.mask("x") == mask {
		return
	}
	printed := s.value.text()
	if err := s.value.set(printed); err != nil && printed != "" {
		t.Fatalf("%s=%q prints as %q, which is refused: %v", s.name, text, printed, err)
	}
	if again := s.value.text(); printed != "" && again != printed {
		t.Fatalf("%s=%q prints as %q, then as %q", s.name, text, printed, again)
	}
}
