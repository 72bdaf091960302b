package main

import "github.com/spf13/cobra"

// commands are all of them, in the order of the help.
func (c *cli) commands() []*cobra.Command {
	return []*cobra.Command{
		c.localCmd(),
		c.connectCmd(),
		c.workspaceCmd(),

		c.outboxCmd(),
		c.questionsCmd(),
		c.threadsCmd(),
		c.sessionsCmd(),
		c.triggerCmd(),
		c.pauseCmd(),
		c.resumeCmd(),

		c.rulesCmd(),
		c.reflectCmd(),
		c.learnCmd(),
		c.skillsCmd(),

		c.statusCmd(),
		c.doctorCmd(),
		c.toolsCmd(),
		c.mcpCmd(),
		c.modelsCmd(),
		c.configCmd(),
		c.workCmd(),

		c.manifestCmd(),
		c.authCmd(),
		c.linkCmd(),
		c.unlinkCmd(),
		c.notifyCmd(),
		c.sendCmd(),

		c.demoMailCmd(),
		c.versionCmd(),
	}
}
