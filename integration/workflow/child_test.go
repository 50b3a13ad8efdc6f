package workflow_test

// roleVariable makes this binary play a role.
const roleVariable = "SPKY_WORKFLOW_TEST_ROLE"

func play(string) int { return 2 }
