package store_test

import (
	"testing"

	"example.com/gatehouse/internal/store/storetest"
)

func TestPing(t *testing.T) {
	t.Parallel()
	if err := storetest.New(t).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}
