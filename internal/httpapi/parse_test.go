package httpapi

import (
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/parse"
)

// The longest text that is valid is reserved for with all its bytes, whether its length was said or not.
func TestPromptBytes(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"a", "ü", "\u20ac", "🦷"} {
		in := api.ParseRequest{Text: strings.Repeat(character, api.MaxText), Timezone: "America/Argentina/ComodRivadavia"}
		if faults := in.Validate(); len(faults) > 0 {
			t.Fatalf("%q is no longest text: %v", character, faults)
		}
		given := int64(len(in.Text) + len(in.Timezone))
		for _, length := range []int64{-1, given + int64(len(`{"text":"","timezone":""}`)), maxBody} {
			if got := promptBytes(length); got < given {
				t.Errorf("of a body of %d bytes %d are reserved, and %d characters %q have %d with their zone", length, got, api.MaxText, character, given)
			}
		}
	}
	if got := promptBytes(12); got != 12 {
		t.Errorf("of a short body %d bytes are reserved", got)
	}
}

// Every draft can be saved as it is: the parser's limits are no wider than a task's.
func TestDraftsFitTasks(t *testing.T) {
	t.Parallel()
	if parse.MaxTitle > api.MaxTitle || parse.MaxNotes > api.MaxNotes || parse.MaxTags > api.MaxTags || parse.MaxTagLength > api.MaxTag {
		t.Error("a draft may be larger than a task")
	}
}
