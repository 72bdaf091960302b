package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/threads"
)

func (c *cli) questionsCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var asJSON bool
		cmd.Args = cobra.NoArgs
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.RunE = c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.questionsList(ctx, d, asJSON) })
		return cmd
	}
	cmd := list(&cobra.Command{Use: "questions", Short: "Questions that the agent has parked for you"})
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "Open questions, oldest first"}), &cobra.Command{
		Use:   "answer ID TEXT…",
		Short: "Answer a question; its conversation goes on",
		Args:  cobra.MinimumNArgs(2),
		RunE: c.byPerson(c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			return c.answerQuestion(ctx, d, args[0], strings.Join(args[1:], " "))
		})),
	})
	return cmd
}

func (c *cli) questionsList(ctx context.Context, d *desk, asJSON bool) error {
	list, err := d.threads.OpenQuestions(ctx)
	if err != nil {
		return err
	}
	forms, err := d.threads.OpenForms(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		type view struct {
			ID       string    `json:"id"`
			Thread   string    `json:"thread"`
			Question string    `json:"question"`
			Options  []string  `json:"options"`
			Tainted  bool      `json:"tainted"`
			Created  time.Time `json:"created"`
		}
		views := make([]view, 0, len(list))
		for _, q := range list {
			views = append(views, view{q.ID, q.Thread, q.Text, append([]string{}, q.Options...), q.Tainted, q.Created})
		}
		asked := make([]serverQuestion, 0, len(forms))
		for _, f := range forms {
			asked = append(asked, serverQuestion{f.ID, f.Thread, f.Server, f.Message, f.Created})
		}
		return c.printJSON(map[string]any{"questions": views, "server_questions": asked})
	}
	if len(list)+len(forms) == 0 {
		fmt.Fprintln(c.Stdout, "No question is open.")
		return nil
	}
	for _, q := range list {
		mark := ""
		if q.Tainted {
			mark = "   ⚠ asked after private data and a third party's text had met"
		}
		fmt.Fprintf(c.Stdout, "◌ %s   %s   in %s%s\n  %s\n", q.ID, ago(q.Created), q.Thread, mark, plain(q.Text, 2000))
		for i, o := range q.Options {
			fmt.Fprintf(c.Stdout, "    %d  %s\n", i+1, plain(o, 300))
		}
	}
	for _, f := range forms {
		fmt.Fprintf(c.Stdout, "◌ the MCP server %s   %s   in %s, in the middle of a call: answer on its card there\n  %s\n", plain(f.Server, 60), ago(f.Created), f.Thread, plain(f.Message, 2000))
	}
	return nil
}

// serverQuestion is a question that an MCP server asks in the middle of a call.
type serverQuestion struct {
	ID      string    `json:"id"`
	Thread  string    `json:"thread"`
	Server  string    `json:"server"`
	Message string    `json:"message"` // its words
	Created time.Time `json:"created"`
}

func (c *cli) answerQuestion(ctx context.Context, d *desk, id, answer string) error {
	list, err := d.threads.OpenQuestions(ctx)
	if err != nil {
		return err
	}
	var found []threads.Question
	for _, q := range list {
		if strings.HasPrefix(q.ID, id) {
			found = append(found, q)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("no open question %q; `mecha-slack questions` lists them", id)
	case 1:
	default:
		return refusedf("%q is the beginning of several questions", id)
	}
	q := found[0]
	// The number of an option stands for it.
	for i, o := range q.Options {
		if answer == fmt.Sprint(i+1) {
			answer = o
		}
	}
	q, fresh, err := d.threads.AnswerQuestion(ctx, who(), q.ID, answer)
	if err != nil {
		return err
	}
	if !fresh {
		return refusedf("question %s is %s already", q.ID, q.State)
	}
	fmt.Fprintln(c.Stdout, "Answered; its conversation goes on.")
	if _, ok := d.botPID(); !ok {
		fmt.Fprintln(c.Stdout, "No bot runs on this home: it goes on when one does.")
	}
	return nil
}
