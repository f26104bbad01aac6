package ratelimit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// budgetName is `class` or `module.action`: short, so that metrics and keys stay so, and never a key.
var budgetName = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9]*)*$`)

// maxName bounds a budget's name.
const maxName = 64

// lint says everything that is wrong with the configuration.
func (c *Config) lint() error {
	var faults []error
	seen := make(map[string]bool, len(c.Budgets))
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if seen[b.Name] {
			faults = append(faults, fmt.Errorf("budget %q: listed twice: give each row a name of its own", b.Name))
		}
		seen[b.Name] = true
		for _, fault := range []error{b.check(), c.checkStore(b)} {
			if fault != nil {
				faults = append(faults, fmt.Errorf("budget %q: %w", b.Name, fault))
			}
		}
	}
	return errors.Join(faults...)
}

func (b *Budget) check() error {
	switch {
	case len(b.Name) > maxName || !budgetName.MatchString(b.Name):
		return fmt.Errorf("a name is `class` or `module.action` in lower case, at most %d bytes", maxName)
	case b.OnFailure < Open || b.OnFailure > Closed:
		return errors.New("says not what happens when its store fails: use open, local or closed")
	case b.MaxCost < 0:
		return fmt.Errorf("cost %d is negative", b.MaxCost)
	}
	if err := b.Limit.Check(); err != nil {
		return err
	}
	if b.TooSmall() {
		return fmt.Errorf("cost %d is above the limit %d and never fits: raise the limit or lower the cost", b.MaxCost, b.Limit.N)
	}
	return nil
}

func (c *Config) checkStore(b *Budget) error {
	store, ok := c.Stores[b.Store]
	if !ok || store == nil {
		return fmt.Errorf("store %q is unknown: use one of %s", b.Store, c.storeNames())
	}
	if !supports(store, b.Limit.Algorithm) {
		return fmt.Errorf("store %s does not count %v: use another store", b.Store, b.Limit.Algorithm)
	}
	if b.OnFailure != Local {
		return nil
	}
	if c.Local == nil {
		return errors.New("is counted in this process when its store fails, but there is no local store")
	}
	if !supports(c.Local, b.Limit.Algorithm) {
		return fmt.Errorf("the local store does not count %v", b.Limit.Algorithm)
	}
	return nil
}

func (c *Config) storeNames() string {
	names := make([]string, 0, len(c.Stores))
	for name := range c.Stores {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func supports(store Store, a Algorithm) bool {
	s, ok := store.(Selective)
	return !ok || s.Supports(a)
}
