// Package docs holds the pages for people, and the tests that keep them true:
// every key of the configuration stands in configuration.md and in the example
// file, every link leads somewhere, every command line names a command that
// exists.
package docs
