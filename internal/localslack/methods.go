package localslack

import "slices"

// method is one method of the Web API: who may call it, how often, and what it
// does; what Slack's reference says of it is in its facts.
type method struct {
	facts
	run   func(*call) (result, error)
	kinds tokenKind
	tier  tier
	open  bool // needs no token
}

const anyUser = botToken | userToken

func methodTable() map[string]method {
	table := map[string]method{
		"api.test":                              {run: apiTest, open: true},
		"blocks.validate":                       {run: blocksValidate, open: true},
		"auth.test":                             {run: authTest, kinds: anyUser | appToken},
		"apps.connections.open":                 {run: connectionsOpen, kinds: appToken},
		"bots.info":                             {run: botsInfo, kinds: anyUser},
		"team.info":                             {run: teamInfo, kinds: anyUser},
		"users.info":                            {run: usersInfo, kinds: anyUser},
		"users.list":                            {run: usersList, kinds: anyUser},
		"users.conversations":                   {run: usersConversations, kinds: anyUser},
		"users.lookupByEmail":                   {run: usersLookup, kinds: anyUser},
		"chat.postMessage":                      {run: chatPost, kinds: anyUser},
		"chat.meMessage":                        {run: chatMe, kinds: anyUser},
		"chat.postEphemeral":                    {run: chatEphemeral, kinds: anyUser},
		"chat.update":                           {run: chatUpdate, kinds: anyUser},
		"chat.delete":                           {run: chatDelete, kinds: anyUser},
		"chat.getPermalink":                     {run: chatPermalink, kinds: anyUser},
		"chat.unfurl":                           {run: chatUnfurl, kinds: anyUser},
		"chat.startStream":                      {run: startStream, kinds: botToken},
		"chat.appendStream":                     {run: appendStream, kinds: botToken},
		"chat.stopStream":                       {run: stopStream, kinds: botToken},
		"chat.scheduleMessage":                  {run: chatSchedule, kinds: anyUser},
		"chat.deleteScheduledMessage":           {run: deleteScheduled, kinds: anyUser},
		"chat.scheduledMessages.list":           {run: listScheduled, kinds: anyUser},
		"conversations.list":                    {run: conversationsList, kinds: anyUser},
		"conversations.info":                    {run: conversationsInfo, kinds: anyUser},
		"conversations.members":                 {run: conversationsMembers, kinds: anyUser},
		"conversations.history":                 {run: conversationsHistory, kinds: anyUser},
		"conversations.replies":                 {run: conversationsReplies, kinds: anyUser},
		"conversations.mark":                    {run: conversationsMark, kinds: anyUser},
		"conversations.open":                    {run: conversationsOpen, kinds: anyUser},
		"conversations.close":                   {run: conversationsClose, kinds: anyUser},
		"conversations.join":                    {run: conversationsJoin, kinds: anyUser},
		"conversations.leave":                   {run: conversationsLeave, kinds: anyUser},
		"conversations.kick":                    {run: conversationsKick, kinds: anyUser},
		"conversations.create":                  {run: conversationsCreate, kinds: anyUser},
		"conversations.rename":                  {run: conversationsRename, kinds: anyUser},
		"conversations.archive":                 {run: conversationsArchive, kinds: anyUser},
		"conversations.unarchive":               {run: conversationsUnarchive, kinds: anyUser},
		"conversations.invite":                  {run: conversationsInvite, kinds: anyUser},
		"conversations.setTopic":                {run: conversationsSetTopic, kinds: anyUser},
		"conversations.setPurpose":              {run: conversationsSetPurpose, kinds: anyUser},
		"reactions.add":                         {run: reactionsAdd, kinds: anyUser},
		"reactions.remove":                      {run: reactionsRemove, kinds: anyUser},
		"reactions.get":                         {run: reactionsGet, kinds: anyUser},
		"reactions.list":                        {run: reactionsList, kinds: anyUser},
		"pins.add":                              {run: pinsAdd, kinds: anyUser},
		"pins.remove":                           {run: pinsRemove, kinds: anyUser},
		"pins.list":                             {run: pinsList, kinds: anyUser},
		"views.open":                            {run: viewsOpen, kinds: botToken},
		"views.push":                            {run: viewsPush, kinds: botToken},
		"views.update":                          {run: viewsUpdate, kinds: botToken},
		"views.publish":                         {run: viewsPublish, kinds: botToken},
		"files.getUploadURLExternal":            {run: uploadURL, kinds: anyUser},
		"files.completeUploadExternal":          {run: completeUpload, kinds: anyUser},
		"files.upload":                          {run: uploadOld, kinds: anyUser},
		"files.info":                            {run: filesInfo, kinds: anyUser},
		"files.list":                            {run: filesList, kinds: anyUser},
		"files.delete":                          {run: filesDelete, kinds: anyUser},
		"assistant.threads.setStatus":           {run: setStatus, kinds: botToken},
		"assistant.threads.setTitle":            {run: setTitle, kinds: botToken},
		"assistant.threads.setSuggestedPrompts": {run: setPrompts, kinds: botToken},
		"agents.sessions.setStatus":             {run: sessionStatus, kinds: botToken},
		"agents.sessions.rename":                {run: sessionRename, kinds: botToken},
	}
	known := readFacts()
	for name, m := range table {
		m.facts = known[name]
		m.tier = tierOf(name, m.rate)
		table[name] = m
	}
	return table
}

// tierOf is how often a method may be called. Those that Slack calls special
// have no number in its schemas.
func tierOf(name, published string) tier {
	switch name {
	case "api.test", "blocks.validate":
		return unlimited
	case "chat.postMessage":
		return tierPost
	case "assistant.threads.setStatus":
		return tierStatus
	}
	switch published {
	case "t1":
		return tier1
	case "t2":
		return tier2
	case "t3":
		return tier3
	case "t4":
		return tier4
	}
	return tierLots
}

// allScopes is every scope that some method asks for, and those of events.
func allScopes(methods map[string]method) []string {
	out := []string{"app_mentions:read", "commands"}
	for _, m := range methods {
		out = append(out, m.scopes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
