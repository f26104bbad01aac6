// Package web holds the built web app, embedded. A bare clone has none: the server then says how to build it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the build: index.html, and assets/ with hashed names. It is empty until `make web` has run.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // The embedded folder is always there.
		panic(err)
	}
	return files
}
