package store

import (
	"time"

	"github.com/google/uuid"
)

// A Page is a part of a list.
type Page struct {
	// After is the last row of the page before; nil begins at the newest.
	After *Cursor
	// Limit is the most to return, at least 1.
	Limit int
}

// A Cursor is a row's place in a list: newest first, and by id within one millisecond.
type Cursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// params are the place that the page begins behind, and its size. The first page begins beyond all rows, so that one
// plan serves all pages: nothing is from after the year 9999, the last that the contract can write.
func (p Page) params() (before Cursor, size int32) {
	before = Cursor{CreatedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	if p.After != nil {
		before = *p.After
	}
	return before, int32(min(max(p.Limit, 1), 1_000))
}
