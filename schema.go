// Package mechaslack holds the one file that every room shares: schema.sql,
// the whole current schema of the record. It sits at the top of the tree
// because it is the best first file to read; this file only embeds it.
package mechaslack

import _ "embed"

// Schema is schema.sql as it stands: every table, index and trigger of the
// record, at the version that internal/record writes into user_version.
//
//go:embed schema.sql
var Schema string
