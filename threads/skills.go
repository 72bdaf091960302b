package threads

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// SkillsRead answers which skills a conversation has read, oldest first: its
// calls' rows hold it (agent.SkillLog).
func (t *Threads) SkillsRead(thread string) (list []agent.SkillRead, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		args, err := record.Collect(tx, scanString, qSkillCalls, thread)
		if err != nil {
			return err
		}
		list = nil
		for _, a := range args {
			var k agent.SkillRead
			if json.Unmarshal([]byte(a), &k) == nil && k.Name != "" {
				list = append(list, k)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read which skills thread %s has read: %w", thread, err)
	}
	return list, nil
}
