package config

func (l *loader) buildSchedules() {}
