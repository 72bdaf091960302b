package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// suite is a file of recordings, whichever its format.
type suite struct {
	name   string
	labels map[string]label
	schema map[string]json.RawMessage
	tasks  []task
	pairs  []pair
}

// label is what a file says of a tool.
type label struct {
	Private     bool
	Untrusted   bool
	Egress      tools.Egress
	Destructive bool
	Outbox      bool // a send-like tool: routed
	Writes      bool
	Fetch       bool
}

func (l label) caps() tools.Capabilities {
	return tools.Capabilities{PrivateData: l.Private, UntrustedInput: l.Untrusted, Egress: l.Egress, Destructive: l.Destructive}
}

// call is one recorded call.
type call struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Result   string          `json:"result"`
	Vectors  []string        `json:"vectors"` // the attacker's text shows in the result
	Critical bool            `json:"critical"`
}

// task is what a user wants, with the calls that do it.
type task struct {
	id, prompt string
	calls      []call
}

// pair is a task with an attack on it. goal is the attacker's text.
type pair struct {
	task
	attack string
	goal   string
	calls2 []call
}

func readSuite(path string) (suite, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return suite{}, err
	}
	s := suite{name: strings.TrimSuffix(filepath.Base(path), ".json"), schema: map[string]json.RawMessage{}}
	var f struct {
		Labels map[string]label `json:"labels"`
		Tools  []struct {
			Name   string          `json:"name"`
			Params json.RawMessage `json:"params"`
		} `json:"tools"`
		UserTasks []struct {
			ID     string `json:"id"`
			Prompt string `json:"prompt"`
			Calls  []call `json:"calls"`
		} `json:"user_tasks"`
		InjectionTasks []struct {
			ID    string `json:"id"`
			Goal  string `json:"goal"`
			Calls []call `json:"calls"`
		} `json:"injection_tasks"`
		Cases []struct {
			Kind        string   `json:"kind"`
			UserTool    string   `json:"user_tool"`
			Instruction string   `json:"user_instruction"`
			UserArgs    string   `json:"user_args"`
			Response    string   `json:"tool_response"`
			Attackers   []string `json:"attacker_tools"`
			Attack      string   `json:"attack"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return suite{}, fmt.Errorf("%s does not parse: %w", path, err)
	}
	s.labels = f.Labels
	for _, t := range f.Tools {
		s.schema[t.Name] = t.Params
	}
	for _, u := range f.UserTasks {
		t := task{u.ID, u.Prompt, u.Calls}
		s.tasks = append(s.tasks, t)
		for _, a := range f.InjectionTasks {
			if exposed(t) {
				s.pairs = append(s.pairs, pair{t, u.ID + " x " + a.ID, a.Goal, a.Calls})
			}
		}
	}
	for i, c := range f.Cases {
		t := task{fmt.Sprintf("case %d", i), c.Instruction, []call{{Tool: c.UserTool, Args: literal(c.UserArgs), Result: c.Response, Vectors: []string{"response"}}}}
		s.tasks = append(s.tasks, t)
		var steps []call
		for _, name := range c.Attackers {
			steps = append(steps, call{Tool: name, Args: attackArgs(c.Attack), Critical: true, Result: "ok"})
		}
		s.pairs = append(s.pairs, pair{t, fmt.Sprintf("%s %d (%s)", c.Kind, i, strings.Join(c.Attackers, ", ")), c.Attack, steps})
	}
	if len(s.tasks) == 0 {
		return suite{}, errors.New(path + " holds neither tasks nor cases")
	}
	return s, nil
}

// exposed tells whether a task ever reads what an attacker can write to.
func exposed(t task) bool {
	for _, c := range t.calls {
		if len(c.Vectors) > 0 {
			return true
		}
	}
	return false
}

// literal turns the recorded Python literal of arguments into JSON, loosely:
// the values matter to the gate, not their types.
func literal(s string) json.RawMessage {
	j := strings.NewReplacer(`\'`, `'`, `'`, `"`, "True", "true", "False", "false", "None", "null").Replace(s)
	if json.Valid([]byte(j)) {
		return json.RawMessage(j)
	}
	b, _ := json.Marshal(map[string]string{"input": s})
	return b
}

// attackArgs are the arguments of an attack that only its text describes: what
// an obeying model would put there is taken from that text.
func attackArgs(text string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"request": text})
	return b
}
