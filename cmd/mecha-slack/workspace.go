package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

func (c *cli) workspaceCmd() *cobra.Command {
	var addr, ready, data string
	var manifests []string
	cmd := &cobra.Command{
		Use:   "workspace",
		Short: "The local Slack-compatible workspace alone, for any Slack app",
		Long: `The local Slack-compatible workspace alone, for any Slack app.

Without --manifest there is one app that may do everything, hears every event and has every slash command. With it, an
app has the scopes, events, commands and shortcuts that its manifest (JSON) names, and Slack's refusals for the rest.
Several apps are several --manifest.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			log := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			apps, err := readManifests(manifests)
			if err != nil {
				return err
			}
			ws, err := localslack.Start(ctx, localslack.Config{Addr: addr, Dir: data, Log: log, Manifests: apps})
			if errors.Is(err, localslack.ErrInUse) {
				return refused(err)
			}
			if err != nil {
				return err
			}
			at := ws.Ready()
			if ready != "" {
				if err := writeReady(ready, readyFile{Ready: at, PID: os.Getpid()}); err != nil {
					ws.Close()
					return err
				}
				defer os.Remove(ready)
			}
			fmt.Fprintln(c.Stdout, "mecha-slack workspace")
			fmt.Fprintf(c.Stdout, "  page       %s/#key=%s\n", at.URL, at.ControlToken)
			fmt.Fprintf(c.Stdout, "  api        %s\n", at.APIURL)
			for _, a := range at.Apps {
				if len(at.Apps) > 1 {
					fmt.Fprintf(c.Stdout, "%s (%s)\n", a.Name, a.AppID)
				}
				fmt.Fprintf(c.Stdout, "  bot token  %s\n  app token  %s\n", a.BotToken, a.AppToken)
			}
			fmt.Fprintln(c.Stdout, "Ctrl-C stops it.")
			<-ctx.Done()
			return ws.Close()
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8484", "where it listens; loopback only")
	cmd.Flags().StringVar(&ready, "ready", "", "write this file (JSON, mode 0600) once it answers")
	cmd.Flags().StringArrayVar(&manifests, "manifest", nil, "install the app of this manifest (JSON); may be repeated")
	cmd.Flags().StringVar(&data, "data", "", "keep its state in this directory; in memory without it")
	return cmd
}

// readManifests reads the manifests of the apps to install. Two apps of one name
// could not be told apart after a restart.
func readManifests(names []string) ([]localslack.Manifest, error) {
	var out []localslack.Manifest
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--manifest: %v", err)
		}
		m, err := localslack.ParseManifest(raw)
		if err != nil {
			return nil, usagef("--manifest %s: %v", name, err)
		}
		for _, other := range out {
			if other.Name == m.Name {
				return nil, usagef("--manifest %s: there is already an app named %q", name, m.Name)
			}
		}
		out = append(out, m)
	}
	return out, nil
}
