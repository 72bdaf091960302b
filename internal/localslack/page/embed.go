// Package page owns the browser page of the local Slack workspace: plain ES modules, styles and two vendored
// libraries, embedded as they are authored. It promises that nothing here needs a build step, an inline script, a
// cookie or another origin. It must never know the server: everything the page learns comes over /_local/.
package page

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files is the page as a file system whose root holds index.html, to be served at "/". Every other file is
// asked for as "/static/NAME", where NAME is its path in this file system ("app.js", "vendor/purify.js").
func Files() fs.FS {
	root, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // unreachable: "dist" is a valid path, fixed at compile time
	}
	return root
}
