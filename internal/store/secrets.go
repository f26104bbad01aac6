package store

import (
	"context"
	"crypto/rand"
	"fmt"

	"example.com/gatehouse/internal/dbgen"
)

// Secret returns the deployment's random secret of this name and size in bytes. The process that asks first makes it;
// all get the same.
func (s *Store) Secret(ctx context.Context, name string, size int) ([]byte, error) {
	secret := make([]byte, size)
	err := all(ctx, s, "get secret "+name, func(ctx context.Context, q *dbgen.Queries) error {
		// Reading afterwards is what decides: of two that add at once, the second waits for the first and adds nothing.
		rand.Read(secret)
		if err := q.AddSecret(ctx, dbgen.AddSecretParams{Name: name, Value: secret}); err != nil {
			return err
		}
		stored, err := q.Secret(ctx, name)
		secret = stored
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(secret) != size {
		return nil, fmt.Errorf("get secret %s: it has %d bytes, not %d: delete its row to have it made anew", name, len(secret), size)
	}
	return secret, nil
}
