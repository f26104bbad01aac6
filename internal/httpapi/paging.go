package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

// page reads the query of a list: which page, and what is wrong with the query.
func page(query url.Values) (store.Page, []api.FieldError) {
	var faults []api.FieldError
	p := store.Page{}
	limit, fault := pageSize(query.Get("limit"))
	if fault != nil {
		faults = append(faults, *fault)
	}
	p.Limit = limit
	if text := query.Get("cursor"); text != "" {
		after, err := readCursor(text)
		if err != nil {
			faults = append(faults, api.FieldError{Field: "cursor", Message: "must be the nextCursor of the page before"})
		}
		p.After = after
	}
	return p, faults
}

func pageSize(text string) (int, *api.FieldError) {
	if text == "" {
		return api.DefaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > api.MaxPage {
		return api.DefaultPage, &api.FieldError{Field: "limit", Message: fmt.Sprintf("must be a number from 1 to %d", api.MaxPage)}
	}
	return n, nil
}

// plainPage reads the query of a list that has no filter.
func (c *call) plainPage() (store.Page, error) {
	query, err := c.query()
	if err != nil {
		return store.Page{}, err
	}
	p, fields := page(query)
	return p, invalid(fields)
}

// more asks for one row more than is shown, to know whether more follow.
func more(p store.Page) store.Page {
	p.Limit++
	return p
}

// cut shows the rows of a page, and names the place of the last one if more follow.
func cut[T any](rows []T, p store.Page, place func(T) store.Cursor) (shown []T, next string) {
	if len(rows) <= p.Limit {
		return rows, ""
	}
	return rows[:p.Limit], cursorOf(place(rows[p.Limit-1]))
}

// bodies turns rows into what the contract calls them; an empty list is no null.
func bodies[T, B any](rows []T, body func(T) B) []B {
	items := make([]B, len(rows))
	for i, row := range rows {
		items[i] = body(row)
	}
	return items
}

// cursorOf names a row's place in its list: its time and its id, which together are unique.
func cursorOf(c store.Cursor) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.CreatedAt.UnixMilli(), 10) + "." + c.ID.String()))
}

func readCursor(text string) (*store.Cursor, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("decode cursor: %w", err)
	}
	at, id, _ := strings.Cut(string(data), ".")
	milli, err := strconv.ParseInt(at, 10, 64)
	if err != nil || milli < 0 || milli > lastMilli {
		return nil, fmt.Errorf("read time of cursor %q", at)
	}
	rowID, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("read id of cursor: %w", err)
	}
	return &store.Cursor{CreatedAt: time.UnixMilli(milli).UTC(), ID: rowID}, nil
}

// lastMilli is the end of the year 9999, beyond which a time has no RFC 3339 form.
const lastMilli = 253_402_300_799_999
