package main

import (
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

type schemaCommand struct{}

// Help is shown below the command's usage.
func (schemaCommand) Help() string {
	return `Save it beside the routes file and name it there as "$schema": editors then complete and check what is written.`
}

// Run prints the JSON Schema.
func (schemaCommand) Run(p *process) error {
	_, err := p.stdout.Write(route.Schema(builtin.All(nil)))
	return err
}
