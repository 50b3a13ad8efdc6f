// Package redact hides what the configuration names in what people and programs are shown: values of rows, and texts of
// errors that repeat them. What is stored stays as it is.
//
//	rules := redact.New([]string{"payload.card.number", "*.password"})
//	rules.Value("payload", row["payload"])  // JSON with "[redacted]" in the places of those values
//	mask := rules.Mask()
//	mask.Add("payload", row["payload"])
//	mask.Text(reason)                       // the text with "[redacted]" wherever it says one of them
//
// A text is known to hold a value only where it says it as it stands in the row, or says it to those who decode JSON, other
// quotes with backslashes, HTML or URLs. What was encoded, hashed or reworded in another way is shown.
package redact
