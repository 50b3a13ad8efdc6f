package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// nodesView is the content of the page of nodes and backends.
type nodesView struct {
	Nodes    []admin.Node
	Backends []admin.Backend
}

func (d *Dashboard) nodes(v *visit) error {
	nodes, err := d.cfg.Cluster.Nodes(v.ctx())
	if err != nil {
		return err
	}
	backends, err := d.cfg.Cluster.Backends(v.ctx())
	if err != nil {
		return err
	}
	return d.show(v, "nodes", d.view(v, "nodes", "Nodes and backends", nodesView{nodes, backends}).watching(api.TopicNodes, "").moving(len(nodes) > 0 && nodes[0].State != admin.NodeDead, pondering))
}
