package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/api"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(api.TaskUpdate{Title: api.Some("x"), DueAt: api.Clear[api.Time](), Done: api.Some(false)})
	if err != nil || string(data) != `{"title":"x","dueAt":null,"done":false}` {
		t.Fatalf("written as %s, %v", data, err)
	}
	var read api.TaskUpdate
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if !read.Title.Set || read.Title.Value != "x" || !read.DueAt.Null || read.Notes.Set || !read.Done.Set || read.Done.Value {
		t.Errorf("read as %+v", read)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("𝒳", 201)
	cases := map[string]struct {
		body interface{ Validate() []api.FieldError }
		want []string
	}{
		"the least":        {api.TaskCreate{Title: "x"}, nil},
		"the most":         {api.TaskCreate{Title: long[:800], Notes: strings.Repeat("é", 10_000), Tags: []string{strings.Repeat("t", 32)}, Priority: "high"}, nil},
		"all at once":      {api.TaskCreate{Title: long, Notes: strings.Repeat("n", 10_001), Priority: "urgent", Tags: []string{"", "a", "a"}}, []string{"title", "notes", "priority", "tags[0]", "tags[2]"}},
		"blank title":      {api.TaskCreate{Title: " \t"}, []string{"title"}},
		"NUL":              {api.TaskCreate{Title: "a\x00b", Notes: "\x00"}, []string{"title", "notes"}},
		"eleven tags":      {api.TaskCreate{Title: "x", Tags: strings.Split("a b c d e f g h i j k", " ")}, []string{"tags"}},
		"empty patch":      {api.TaskUpdate{}, nil},
		"cleared":          {api.TaskUpdate{Notes: api.Clear[string](), Tags: api.Clear[[]string](), Priority: api.Clear[api.Priority](), DueAt: api.Clear[api.Time]()}, nil},
		"cannot clear":     {api.TaskUpdate{Title: api.Clear[string](), Done: api.Clear[bool]()}, []string{"title", "done"}},
		"patch at fault":   {api.TaskUpdate{Title: api.Some(""), Priority: api.Some(api.Priority("x"))}, []string{"title", "priority"}},
		"parse":            {api.ParseRequest{Text: "x"}, nil},
		"parse at fault":   {api.ParseRequest{Text: strings.Repeat("x", 2001), Timezone: "Mars/Olympus"}, []string{"text", "timezone"}},
		"the server's own": {api.ParseRequest{Text: "x", Timezone: "Local"}, []string{"timezone"}},
		"report at fault":  {api.ReportCreate{TaskID: "7"}, []string{"taskId", "reason"}},
		"report":           {api.ReportCreate{TaskID: "01890000-0000-7000-8000-000000000000", Reason: "x"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, fault := range c.body.Validate() {
				got = append(got, fault.Field)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("faults in %v, want %v", got, c.want)
			}
		})
	}
}
