//go:build !linux

package storetest

import "os"

func fastDir() string { return os.TempDir() }
