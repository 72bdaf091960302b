package localslack

import "slices"

// method is one method of the Web API: who may call it, how often, with which
// arguments, and what it does. The facts are those of Slack's reference.
type method struct {
	run      func(*call) (result, error)
	kinds    tokenKind
	scopes   []string // any one of them will do
	tier     tier
	required []string
	open     bool // needs no token
}

const anyUser = botToken | userToken

func methodTable() map[string]method {
	write := []string{"chat:write"}
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	read := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	manage := []string{"channels:manage", "groups:write", "im:write", "mpim:write"}
	filesRead, filesWrite := []string{"files:read"}, []string{"files:write"}
	reactRead, reactWrite := []string{"reactions:read"}, []string{"reactions:write"}
	assistant := []string{"assistant:write"}
	people, team := []string{"users:read"}, []string{"team:read"}
	args := func(names ...string) []string { return names }

	return map[string]method{
		"api.test":                              {run: apiTest, open: true},
		"blocks.validate":                       {run: blocksValidate, open: true},
		"auth.test":                             {run: authTest, kinds: anyUser | appToken, tier: tierLots},
		"apps.connections.open":                 {run: connectionsOpen, kinds: appToken, tier: tier3},
		"bots.info":                             {run: botsInfo, kinds: anyUser, scopes: people, tier: tier3},
		"team.info":                             {run: teamInfo, kinds: anyUser, scopes: team, tier: tier3},
		"users.info":                            {run: usersInfo, kinds: anyUser, scopes: people, tier: tier4, required: args("user")},
		"users.list":                            {run: usersList, kinds: anyUser, scopes: people, tier: tier2},
		"users.conversations":                   {run: usersConversations, kinds: anyUser, scopes: read, tier: tier2},
		"users.lookupByEmail":                   {run: usersLookup, kinds: anyUser, scopes: []string{"users:read.email"}, tier: tier3, required: args("email")},
		"chat.postMessage":                      {run: chatPost, kinds: anyUser, scopes: write, tier: tierPost, required: args("channel")},
		"chat.postEphemeral":                    {run: chatEphemeral, kinds: anyUser, scopes: write, tier: tier4, required: args("channel", "user")},
		"chat.update":                           {run: chatUpdate, kinds: anyUser, scopes: write, tier: tier3, required: args("channel", "ts")},
		"chat.delete":                           {run: chatDelete, kinds: anyUser, scopes: write, tier: tier3, required: args("channel", "ts")},
		"chat.getPermalink":                     {run: chatPermalink, kinds: anyUser, tier: tierLots, required: args("channel", "message_ts")},
		"chat.startStream":                      {run: startStream, kinds: botToken, scopes: write, tier: tier2, required: args("channel")},
		"chat.appendStream":                     {run: appendStream, kinds: botToken, scopes: write, tier: tier4, required: args("channel", "ts")},
		"chat.stopStream":                       {run: stopStream, kinds: botToken, scopes: write, tier: tier2, required: args("channel", "ts")},
		"conversations.list":                    {run: conversationsList, kinds: anyUser, scopes: read, tier: tier2},
		"conversations.info":                    {run: conversationsInfo, kinds: anyUser, scopes: read, tier: tier3, required: args("channel")},
		"conversations.members":                 {run: conversationsMembers, kinds: anyUser, scopes: read, tier: tier4, required: args("channel")},
		"conversations.history":                 {run: conversationsHistory, kinds: anyUser, scopes: history, tier: tier3, required: args("channel")},
		"conversations.replies":                 {run: conversationsReplies, kinds: anyUser, scopes: history, tier: tier3, required: args("channel", "ts")},
		"conversations.open":                    {run: conversationsOpen, kinds: anyUser, scopes: manage, tier: tier3},
		"conversations.join":                    {run: conversationsJoin, kinds: anyUser, scopes: []string{"channels:join"}, tier: tier3, required: args("channel")},
		"conversations.leave":                   {run: conversationsLeave, kinds: anyUser, scopes: manage, tier: tier3, required: args("channel")},
		"conversations.create":                  {run: conversationsCreate, kinds: anyUser, scopes: manage, tier: tier2, required: args("name")},
		"conversations.invite":                  {run: conversationsInvite, kinds: anyUser, scopes: manage, tier: tier3, required: args("channel", "users")},
		"conversations.setTopic":                {run: conversationsSetTopic, kinds: anyUser, scopes: manage, tier: tier2, required: args("channel", "topic")},
		"reactions.add":                         {run: reactionsAdd, kinds: anyUser, scopes: reactWrite, tier: tier3, required: args("channel", "name", "timestamp")},
		"reactions.remove":                      {run: reactionsRemove, kinds: anyUser, scopes: reactWrite, tier: tier2, required: args("name")},
		"reactions.get":                         {run: reactionsGet, kinds: anyUser, scopes: reactRead, tier: tier3},
		"pins.add":                              {run: pinsAdd, kinds: anyUser, scopes: []string{"pins:write"}, tier: tier2, required: args("channel", "timestamp")},
		"pins.remove":                           {run: pinsRemove, kinds: anyUser, scopes: []string{"pins:write"}, tier: tier2, required: args("channel", "timestamp")},
		"pins.list":                             {run: pinsList, kinds: anyUser, scopes: []string{"pins:read"}, tier: tier2, required: args("channel")},
		"views.open":                            {run: viewsOpen, kinds: botToken, tier: tier4, required: args("view")},
		"views.push":                            {run: viewsPush, kinds: botToken, tier: tier4, required: args("view")},
		"views.update":                          {run: viewsUpdate, kinds: botToken, tier: tier4, required: args("view")},
		"views.publish":                         {run: viewsPublish, kinds: botToken, tier: tier4, required: args("user_id", "view")},
		"files.getUploadURLExternal":            {run: uploadURL, kinds: anyUser, scopes: filesWrite, tier: tier4, required: args("filename", "length")},
		"files.completeUploadExternal":          {run: completeUpload, kinds: anyUser, scopes: filesWrite, tier: tier4, required: args("files")},
		"files.info":                            {run: filesInfo, kinds: anyUser, scopes: filesRead, tier: tier4, required: args("file")},
		"files.list":                            {run: filesList, kinds: anyUser, scopes: filesRead, tier: tier3},
		"files.delete":                          {run: filesDelete, kinds: anyUser, scopes: filesWrite, tier: tier3, required: args("file")},
		"assistant.threads.setStatus":           {run: setStatus, kinds: botToken, scopes: write, tier: tierStatus, required: args("channel_id", "thread_ts", "status")},
		"assistant.threads.setTitle":            {run: setTitle, kinds: botToken, scopes: assistant, tier: tier4, required: args("channel_id", "thread_ts", "title")},
		"assistant.threads.setSuggestedPrompts": {run: setPrompts, kinds: botToken, scopes: assistant, tier: tier4, required: args("channel_id", "prompts")},
		"agents.sessions.setStatus":             {run: sessionStatus, kinds: botToken, scopes: write, tier: tier3, required: args("channel_id", "status")},
		"agents.sessions.rename":                {run: sessionRename, kinds: botToken, scopes: write, tier: tier3, required: args("channel_id", "title")},
	}
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
