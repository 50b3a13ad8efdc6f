package schema

import (
	"fmt"
	"strings"
)

// required are the columns without which a table is no outbox; only its owner can say what they mean.
var required = []string{"path", "payload", "status"}

func (box Outbox) findings() []Finding {
	var found []Finding
	if box.Schemafull {
		for _, column := range required {
			if _, ok := box.Fields[column]; !ok {
				found = append(found, Finding{
					Column: column, Fatal: true, Message: "is missing",
					Remedy: fmt.Sprintf("define it; `spky add api --table %s` writes a whole table", box.Table),
				})
			}
		}
	}
	check := func(column, message, remedy string, when bool) {
		if when {
			found = append(found, Finding{Column: column, Message: message, Remedy: remedy})
		}
	}
	fields := box.Fields
	check("payload", "is not of type any, so that not every payload can be stored", "DEFINE FIELD OVERWRITE payload … TYPE any",
		fields["payload"] != "" && !strings.Contains(fields["payload"], "TYPE any"))
	check("created_at", "moves with every update, since its VALUE is time::now()", "DEFINE FIELD OVERWRITE created_at … TYPE datetime DEFAULT time::now() READONLY",
		strings.Contains(fields["created_at"], "VALUE time::now()"))
	check("assigned_to", "is mandatory, so that the platform itself can't write jobs", "DEFINE FIELD OVERWRITE assigned_to … TYPE option<record<…>>",
		fields["assigned_to"] != "" && mandatory(fields["assigned_to"]))
	check("run_at", "does not derive its value, so that new jobs wait for the slow sweep", "remove the column and start the runner, which defines it",
		fields["run_at"] != "" && !strings.Contains(fields["run_at"], " VALUE "))
	return found
}

// mandatory says whether a definition accepts neither NONE nor a default.
func mandatory(def string) bool {
	return !strings.Contains(def, "TYPE none |") && !strings.Contains(def, "option<") &&
		!strings.Contains(def, "TYPE any") && !strings.Contains(def, "DEFAULT")
}
