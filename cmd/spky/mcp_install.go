package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// An agent is a program that speaks the protocol, and how it wants to be told of servers.
type agent struct {
	name, title string
	// file is where its configuration is.
	file string
	// start describes a server that the agent starts, afar one that it asks over HTTP. Where the agent
	// can't do that, afar is nil and the server that it starts does.
	start func(command []string, env map[string]string) string
	afar  func(url string) string
}

// adminVariable is where the token of an admin API is.
const adminVariable = "SPKY_ADMIN_TOKEN"

func agents() []agent {
	return []agent{
		{name: "claude", title: "Claude Desktop", file: "claude_desktop_config.json (Settings > Developer > Edit Config)", start: started("mcpServers", "")},
		{
			name: "claude-code", title: "Claude Code", file: ".mcp.json in the project",
			start: started("mcpServers", "stdio"), afar: reached("http", "url", "${"+adminVariable+"}"),
		},
		{
			name: "cursor", title: "Cursor", file: ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
			start: started("mcpServers", ""), afar: reached("", "url", "${env:"+adminVariable+"}"),
		},
		{name: "vscode", title: "VS Code", file: ".vscode/mcp.json in the project", start: started("servers", "stdio"), afar: reachedByVSCode},
		{name: "codex", title: "Codex", file: "~/.codex/config.toml", start: startedByCodex, afar: reachedByCodex},
		{
			name: "gemini", title: "Gemini CLI", file: ".gemini/settings.json in the project, or ~/.gemini/settings.json",
			start: started("mcpServers", ""), afar: reached("", "httpUrl", "$"+adminVariable),
		},
		{
			name: "windsurf", title: "Windsurf", file: "~/.codeium/windsurf/mcp_config.json",
			start: started("mcpServers", ""), afar: reached("", "serverUrl", "${env:"+adminVariable+"}"),
		},
		{name: "zed", title: "Zed", file: "settings.json", start: started("context_servers", "")},
	}
}

func agentNames() []string {
	var all []string
	for _, a := range agents() {
		all = append(all, a.name)
	}
	return all
}

func newMCPInstallCommand(p *program) *cobra.Command {
	var name string
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print what to paste into an agent's configuration",
		Long: `Print what to paste into an agent's configuration. Nothing is written anywhere.

Without --url the agent starts spky mcp serve on this project's database; with
--url it asks that admin API, with a token that is read from SPKY_ADMIN_TOKEN.
No secret is printed.`,
		Example: "  spky mcp install --client cursor --read-only\n  spky mcp install --client claude-code --url https://spky.example.com",
		Args:    takes(0),
		RunE:    func(*cobra.Command, []string) error { return p.installMCP(name, readOnly) },
	}
	cmd.Flags().StringVar(&name, "client", "", "the agent: "+joined(agentNames()))
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "offer only tools that change nothing; over HTTP the token's scope decides")
	complete(cmd, "client", agentNames()...)
	return cmd
}

func (p *program) installMCP(name string, readOnly bool) error {
	api, err := p.remote()
	if err != nil {
		return err
	}
	for _, a := range agents() {
		if a.name != name {
			continue
		}
		fmt.Fprintf(p.err, "For %s, in %s:\n", a.title, a.file)
		if api != nil && a.afar != nil {
			fmt.Fprintln(p.out, a.afar(api.URL()+"/mcp"))
			fmt.Fprintf(p.err, "The scope of the token decides what may be done: `spky token create` makes one, put it into %s.\n", adminVariable)
			return nil
		}
		command, env, err := p.mcpCommand(readOnly, api != nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, a.start(command, env))
		return nil
	}
	if name == "" {
		return usagef("mcp install: --client is missing; allowed: %s", joined(agentNames()))
	}
	return usagef("--client is %q; allowed: %s", name, joined(agentNames()))
}

// passing says whether a program lies where `go run` puts what it builds: in the build cache, or in a
// directory that it removes.
func passing(program string) bool {
	return strings.Contains(filepath.ToSlash(program), "/go-build")
}

// mcpCommand is how an agent starts this program: by its whole path, for agents know another PATH, and
// on this project's file, for they start it anywhere.
func (p *program) mcpCommand(readOnly, afar bool) ([]string, map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	if passing(self) {
		fmt.Fprintln(p.err, "Mind that `go run` made this program, and that its file may go: `make build`, then `bin/spky mcp install`, names one that stays.")
	}
	command := []string{self, "mcp", "serve"}
	if readOnly {
		command = append(command, "--read-only")
	}
	if afar {
		api, err := p.remote()
		if err != nil {
			return nil, nil, err
		}
		return append(command, "--url", strings.TrimSuffix(api.URL(), "/admin/api")), map[string]string{adminVariable: "put the token here"}, nil
	}
	file := p.flags.config
	if file == "" {
		file = "sp00ky.yml"
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, nil, fmt.Errorf("find the configuration: %w", err)
	}
	if _, err := os.Stat(file); err == nil || p.flags.config != "" {
		command = append(command, "--config", file)
	}
	return append(command, p.databaseFlags()...), nil, nil
}

// databaseFlags repeats the flags that name the database. A password is not repeated: whoever gave one
// puts SPKY_DB_PASS into the agent's environment.
func (p *program) databaseFlags() []string {
	var all []string
	db := p.flags.db
	for _, f := range [][2]string{{"--db-url", db.Endpoint}, {"--ns", db.Namespace}, {"--db", db.Database}, {"--db-user", db.Username}} {
		if f[1] != "" {
			all = append(all, f[0], f[1])
		}
	}
	return all
}

// started describes a server that the agent starts, as most agents want it.
func started(key, typ string) func([]string, map[string]string) string {
	return func(command []string, env map[string]string) string {
		return configuration(key, map[string]any{"type": typ, "command": command[0], "args": command[1:], "env": env})
	}
}

// reached describes a server that the agent asks over HTTP, as most agents want it.
func reached(typ, urlKey, token string) func(string) string {
	return func(url string) string {
		return configuration("mcpServers", map[string]any{"type": typ, urlKey: url, "headers": map[string]string{"Authorization": "Bearer " + token}})
	}
}

func reachedByVSCode(url string) string {
	return forPasting(map[string]any{
		"inputs": []any{map[string]any{"type": "promptString", "id": "spky-token", "description": "spky admin token", "password": true}},
		"servers": map[string]any{"spky": map[string]any{
			"type": "http", "url": url, "headers": map[string]string{"Authorization": "Bearer ${input:spky-token}"},
		}},
	})
}

func startedByCodex(command []string, env map[string]string) string {
	text := fmt.Sprintf("[mcp_servers.spky]\ncommand = %s\nargs = %s", flat(command[0]), flat(command[1:]))
	if len(env) > 0 {
		text += fmt.Sprintf("\nenv_vars = [%s]", flat(adminVariable))
	}
	return text
}

func reachedByCodex(url string) string {
	return fmt.Sprintf("[mcp_servers.spky]\nurl = %s\nbearer_token_env_var = %s", flat(url), flat(adminVariable))
}

// configuration is a server named spky below a key, without what is empty.
func configuration(key string, server map[string]any) string {
	for name, value := range server {
		if empty, ok := value.(string); ok && empty == "" {
			delete(server, name)
		}
		if none, ok := value.(map[string]string); ok && len(none) == 0 {
			delete(server, name)
		}
	}
	return forPasting(map[string]any{key: map[string]any{"spky": server}})
}

// forPasting is JSON for people to paste.
func forPasting(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ") // texts, lists and maps of them always encode
	return string(text)
}

// flat is a text, or a list of them, as JSON and TOML both write it.
func flat(v any) string {
	text, _ := json.Marshal(v) // as above
	return string(text)
}
