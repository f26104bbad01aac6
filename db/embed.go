// Package db holds the schema as SQL: the migrations, embedded in the order in which they run, and the queries that
// sqlc turns into package dbgen.
package db

import "embed"

// Migrations are goose's files, in the folder "migrations". A file that has been released is never edited: another follows it.
//
//go:embed migrations/*.sql
var Migrations embed.FS
