package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc's CPU times: 1/100 s on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// measureProcess reads what a process has used so far and holds now.
func measureProcess(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Usage{}, fmt.Errorf("measure process %d: %w", pid, err)
	}
	// The second field is the name in parentheses, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 22 {
		return Usage{}, fmt.Errorf("measure process %d: %d fields in stat", pid, len(fields))
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // what the kernel writes is a number
		return n
	}
	u := Usage{CPU: time.Duration(number(11)+number(12)) * clockTick, RSS: number(21) * int64(os.Getpagesize())}
	u.Files, u.Sockets, err = openFiles(filepath.Join(dir, "fd"))
	return u, err
}

func openFiles(dir string) (files, sockets int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("list open files: %w", err)
	}
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil && strings.HasPrefix(target, "socket:") {
			sockets++
		}
	}
	return len(entries), sockets, nil
}

// machineLoad is how many processes wanted a CPU in the last minute, on the average.
func machineLoad() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64) // what the kernel writes is a number
	return load
}
