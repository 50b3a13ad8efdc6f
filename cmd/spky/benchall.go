package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/bench"
)

// Where the last table is, from the root of the repository.
const (
	lastTable     = "bench/last.json"
	lastTablePage = "docs/benchmarks.md"
)

// A pageOfFigures is a table as Markdown.
type pageOfFigures struct{ bench.Table }

func (t pageOfFigures) Write(w io.Writer) error { return t.Markdown(w) }

func newBenchAllCommand(p *program) *cobra.Command {
	var b processBench
	var o bench.AllOptions
	var last, page string
	var save, markdown bool
	cmd := &cobra.Command{
		Use:   "all",
		Short: "Every figure once, in one table, beside the last one",
		Long: `Take every figure once and print one table: what was measured, its ceiling or
floor from the same run, their ratio, what is wanted on two cores that have
nothing else to do, and what the last run said that was saved. It takes some
minutes; on a machine that does other things it measures those.`,
		Example: `  spky bench all --devdb
  spky bench all --devdb --save`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			before, err := bench.ReadTable(last)
			if err != nil {
				return err
			}
			return b.run(cmd.Context(), p, func() (benchReport, error) {
				o.ProcessOptions = b.ProcessOptions
				table, err := bench.All(cmd.Context(), o)
				table.Last = before
				if err == nil && save {
					err = errors.Join(table.Save(last), table.SavePage(page))
				}
				if markdown {
					return pageOfFigures{table}, err
				}
				return table, err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&last, "last", lastTable, "the file of the run to compare with")
	f.StringVar(&page, "page", lastTablePage, "the page of documentation that shows it")
	f.BoolVar(&save, "save", false, "write this run into both")
	f.BoolVar(&markdown, "markdown", false, "print the table for a page of documentation")
	f.IntVar(&o.Jobs, "jobs", 5000, "how many jobs")
	f.IntVar(&o.Instances, "instances", 500, "how many instances of workflows")
	f.IntVar(&o.Rows, "rows", 100_000, "the largest backlog of due jobs")
	f.IntVar(&o.Sleeping, "sleeping", 100_000, "how many instances sleep")
	b.flags(cmd)
	return cmd
}

func newBenchLastCommand(p *program) *cobra.Command {
	var asJSON, save bool
	var last, page string
	cmd := &cobra.Command{
		Use:   "last",
		Short: "The table that was saved last",
		Args:  takes(0),
		RunE: func(*cobra.Command, []string) error {
			table, err := bench.ReadTable(last)
			switch {
			case err != nil:
				return err
			case table == nil:
				return fmt.Errorf("there is no %s: `spky bench all --save` writes one", last)
			case save:
				if err := table.SavePage(page); err != nil {
					return err
				}
			}
			return p.show(asJSON, table)
		},
	}
	cmd.Flags().StringVar(&last, "last", lastTable, "its file")
	cmd.Flags().StringVar(&page, "page", lastTablePage, "the page of documentation that shows it")
	cmd.Flags().BoolVar(&save, "save", false, "put it into the page")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newBenchSoakCommand(p *program) *cobra.Command {
	var b processBench
	var o bench.SoakOptions
	var rate string
	var minutes float64
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Jobs at a steady rate for a long time: does the node grow?",
		Long: `Let jobs come at a steady rate for a long time, and take the memory, the
goroutines and the open sockets of the node now and then. The last line is the
slope an hour of a straight line through the samples, without the first fifth.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rate != "half" {
				given, err := strconv.ParseFloat(rate, 64)
				if err != nil || !(given > 0) {
					return usagef("--rate %q is no number of jobs a second; write half, or for instance 500", rate)
				}
				o.Rate = given
			}
			if !(minutes > 0) {
				return usagef("--minutes has to be more than 0")
			}
			o.For = time.Duration(minutes * float64(time.Minute))
			return b.run(cmd.Context(), p, func() (benchReport, error) {
				o.ProcessOptions = b.ProcessOptions
				return bench.Soak(cmd.Context(), o)
			})
		},
	}
	cmd.Flags().Float64Var(&minutes, "minutes", 20, "how long")
	cmd.Flags().StringVar(&rate, "rate", "half", "jobs a second, or half: of what the node does at its best, which is measured first")
	cmd.Flags().DurationVar(&o.Every, "every", 0, "the time between two samples (default 10s)")
	b.flags(cmd)
	return cmd
}
