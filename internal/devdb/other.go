//go:build !unix

package devdb

import (
	"context"
	"errors"
)

// An account is whom the server runs as: elsewhere than on Unix, nobody.
type account struct{}

var errNotUnix = errors.New("the embedded PostgreSQL needs Linux or macOS: point DATABASE_URL at a server")

// Start always fails on this system.
func Start(context.Context, Config) (*Cluster, error) { return nil, errNotUnix }

// Sweep finds nothing to remove.
func Sweep(context.Context, string) {}

// Stop does nothing: no cluster can have been started.
func (c *Cluster) Stop() error { return nil }
