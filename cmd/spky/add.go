package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
)

const addAPIHelp = `Add a backend to the project: write the schema of its outbox table, and the app
into sp00ky.yml. Every other byte of sp00ky.yml stays as it is.

What is not given is asked for on a terminal, and has its default elsewhere; the
OpenAPI document is the one thing that has none.`

func newAddCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{Use: "add", Short: "Add a backend to the project"}
	groupOnly(cmd)
	cmd.AddCommand(newAddAPICommand(p, "api"))
	return cmd
}

// newAPICommand is the other order of the words: spky api add.
func newAPICommand(p *program) *cobra.Command {
	cmd := &cobra.Command{Use: "api", Short: "The same as add api: spky api add"}
	groupOnly(cmd)
	cmd.AddCommand(newAddAPICommand(p, "add"))
	return cmd
}

type addFlags struct {
	config.AddAPIOptions
	overwrite bool
}

func newAddAPICommand(p *program, use string) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:     use,
		Short:   "Add a backend that takes jobs",
		Long:    addAPIHelp,
		Example: "  spky add api --spec openapi.yml --base-url http://127.0.0.1:3000\n  spky api add --name mail --spec mail/openapi.json --table mail_job --auth-token '${MAIL_TOKEN}'",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if render.IsTerminal(p.in) {
				if err := p.askForAPI(cmd, &f.AddAPIOptions); err != nil {
					return err
				}
			}
			return p.addAPI(f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Spec, "spec", "", "its OpenAPI document (required)")
	flags.StringVar(&f.Name, "name", "api", "its name in sp00ky.yml")
	flags.StringVar(&f.BaseURL, "base-url", "http://localhost:3000", "where it listens")
	flags.StringVar(&f.AuthType, "auth-type", "", "how it knows us: token (default token where there is an --auth-token)")
	flags.StringVar(&f.AuthToken, "auth-token", "", "the bearer token; better a reference such as '${API_TOKEN}'")
	flags.StringVar(&f.Table, "table", "job", "its outbox table")
	flags.StringVar(&f.SchemaPath, "schema-path", "", "where the table's schema goes (default ./src/outbox/<name>.surql)")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the schema file where there is one")
	complete(cmd, "auth-type", "token")
	_ = cmd.MarkFlagFilename("spec", "yml", "yaml", "json") // the flag exists
	return cmd
}

// askForAPI asks for what no flag gave. An empty answer takes the default.
func (p *program) askForAPI(cmd *cobra.Command, o *config.AddAPIOptions) error {
	answers := bufio.NewReader(p.in)
	for _, q := range []struct {
		flag, question string
		into           *string
	}{
		{"spec", "OpenAPI document", &o.Spec},
		{"name", "Name", &o.Name},
		{"base-url", "Base URL", &o.BaseURL},
		{"table", "Outbox table", &o.Table},
		{"auth-token", "Bearer token, empty for none", &o.AuthToken},
	} {
		if cmd.Flags().Changed(q.flag) {
			continue
		}
		fmt.Fprintf(p.err, "%s [%s]: ", q.question, *q.into)
		line, err := answers.ReadString('\n')
		if err != nil {
			return usagef("the questions were not answered: %v", err)
		}
		if line = strings.TrimSpace(line); line != "" {
			*q.into = line
		}
	}
	return nil
}

func (p *program) addAPI(f addFlags) error {
	o := f.AddAPIOptions
	if o.Spec == "" {
		return usagef("--spec is missing: the OpenAPI document of the backend")
	}
	if o.SchemaPath == "" {
		o.SchemaPath = "./src/outbox/" + o.Name + ".surql"
	}
	file := p.flags.config
	if file == "" {
		file = config.DefaultFile
	}
	dir := filepath.Dir(file)
	if err := checkSpec(under(dir, o.Spec), o.Spec); err != nil {
		return err
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add api: %w", err)
	}
	after, err := config.AddAPI(before, o)
	if err != nil {
		return err
	}
	outboxSchema, err := config.OutboxSchema(o.Table, config.OutboxOptions{Backend: o.Name})
	if err != nil {
		return err
	}
	if err := p.writeSchema(under(dir, o.SchemaPath), outboxSchema, f.overwrite); err != nil {
		return err
	}
	if err := replaceFile(file, after); err != nil {
		return err
	}
	fmt.Fprintf(p.out, `Added the backend %s.

  Name      %s
  Spec      %s
  Base URL  %s
  Table     %s
  Schema    %s
  Config    %s

Next: look at who may write jobs in %s, then `+"`spky dev`, or `spky migrate`"+`.
`, o.Name, o.Name, o.Spec, o.BaseURL, o.Table, o.SchemaPath, file, o.SchemaPath)
	return nil
}

// under joins a path of the configuration to its directory.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func checkSpec(path, shown string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return usagef("--spec: %v", err)
	}
	spec, err := config.ParseSpec(shown, content)
	if err != nil {
		return usagef("--spec %s: %v", shown, err)
	}
	if len(spec.Routes()) == 0 {
		return usagef("--spec %s has no path with a POST operation, which is what jobs call", shown)
	}
	return nil
}

// writeSchema writes the outbox schema. One that is there, and different, is
// only replaced when somebody says so.
func (p *program) writeSchema(path, text string, overwrite bool) error {
	present, err := os.ReadFile(path)
	if err == nil && string(present) != text && !overwrite {
		if !render.IsTerminal(p.in) {
			return usagef("%s exists and differs; --overwrite replaces it, --schema-path names another", path)
		}
		fmt.Fprintf(p.err, "%s exists and differs. Replace it? [y/N] ", path)
		answer, _ := bufio.NewReader(p.in).ReadString('\n') // no answer is no
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			return fmt.Errorf("add api: %s was left alone, and nothing was added", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("add api: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("add api: %w", err)
	}
	return nil
}

// replaceFile writes a file as a whole or not at all, and keeps its mode.
func replaceFile(path string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".sp00ky-*.yml")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temporary.Name()) // it is gone when all went well
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
