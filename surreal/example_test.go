package surreal_test

import (
	"context"
	"fmt"
	"log"

	"sp00ky.cloud/spky/surreal"
)

func Example() {
	ctx := context.Background()
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: "ws://localhost:8000", Username: "root", Password: "root", Namespace: "app", Database: "app",
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = stop() }()
	job := surreal.NewRecordID("job", "welcome-mail")
	err = surreal.Exec(ctx, db.Retrying(), "UPDATE $job SET attempts += 1", map[string]any{"job": job})
	switch {
	case surreal.IsUnreachable(err):
		log.Print("whether it happened is unknown; look before doing it again")
	case err != nil:
		log.Print(err)
	}
}

func ExampleClient_Live() {
	ctx := context.Background()
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: "ws://localhost:8000", Username: "root", Password: "root", Namespace: "app", Database: "app",
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = stop() }()
	live, err := db.Live(ctx, surreal.LiveConfig{Statement: "LIVE SELECT id FROM job"})
	if err != nil {
		log.Print(err)
		return
	}
	defer live.Close(ctx)
	for range live.C() {
		events, overflow := live.Take()
		for _, event := range events {
			log.Print(event.Action, " ", surreal.FormatID(event.Record))
		}
		if overflow {
			log.Print("too much changed: read everything again")
		}
		if err := live.Err(); err != nil {
			log.Print("subscribe again, then read everything again: ", err)
			return
		}
	}
}

func ExampleFormatID() {
	fmt.Println(surreal.FormatID(surreal.NewRecordID("job", "a1")))
	fmt.Println(surreal.FormatID(surreal.NewRecordID("job", 7)))
	fmt.Println(surreal.FormatID(surreal.NewRecordID("job", "7")))
	fmt.Println(surreal.FormatID(surreal.NewRecordID("step", []any{"a1", 3})))
	// Output:
	// job:a1
	// job:7
	// job:`7`
	// step:['a1', 3]
}

func ExampleParseID() {
	id, err := surreal.ParseID("job:⟨welcome-mail⟩")
	fmt.Println(id.Table, id.ID, err)
	_, err = surreal.ParseID("job:welcome-mail")
	fmt.Println(err)
	// Output:
	// job welcome-mail <nil>
	// "job:welcome-mail" is not a record id (want table:key): "-mail" follows it
}
