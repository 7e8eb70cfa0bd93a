//! Clusters: pods of one shape in one data center, which come and go together.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::Refusal;
use super::world::{Body, MADE, World, text};

impl World {
    pub(crate) fn list_clusters(&mut self) -> Value {
        let ids: Vec<String> = self.clusters.keys().cloned().collect();
        json!({"clusters": ids.iter().filter_map(|id| self.get_cluster(id).ok()).collect::<Vec<_>>()})
    }

    pub(crate) fn create_cluster(&mut self, request: &Body) -> Result<Value, Refusal> {
        let compute = request.get("compute").cloned().unwrap_or_default();
        let gpu = text(compute.as_object().unwrap_or(&Body::new()), "gpuTypeId");
        let mut pod = request.clone();
        for member in ["compute", "type"] {
            pod.remove(member);
        }
        pod.insert("gpu".to_owned(), json!({"id": gpu, "count": compute["gpuCountPerPod"]}));
        let mounts = request.get("mounts").cloned().unwrap_or_else(|| json!({}));
        let center = self.place(&pod, &mounts)?;
        let id = self.id("cluster");
        for rank in 0..compute["podCount"].as_u64().unwrap_or_default() {
            pod.insert("name".to_owned(), json!(format!("{}-{rank}", text(request, "name"))));
            let cluster = json!({"id": id, "rank": rank, "ip": format!("10.65.0.{}", rank + 2)});
            self.new_pod(&pod, &center, Some(cluster));
        }
        let cluster = json!({
            "id": id, "name": request["name"], "type": request["type"], "compute": compute, "createdAt": MADE,
        });
        self.clusters.insert(id.clone(), cluster.as_object().cloned().unwrap_or_default());
        self.get_cluster(&id)
    }

    /// Identity and shape, with what follows from the pods.
    pub(crate) fn get_cluster(&mut self, id: &str) -> Result<Value, Refusal> {
        let mut shown = self.clusters.get(id).cloned().ok_or_else(|| Refusal::not_found("cluster"))?;
        let members = self.members(id);
        members.iter().for_each(|pod| self.advance(pod));
        let mut by_status: BTreeMap<String, u32> = BTreeMap::new();
        for pod in members.iter().filter_map(|pod| self.pods.get(pod)) {
            *by_status.entry(pod.status().to_owned()).or_default() += 1;
        }
        shown.insert("pods".to_owned(), json!({"total": members.len(), "byStatus": by_status}));
        if let Some(primary) = members.first().and_then(|pod| self.pods.get(pod)) {
            let (pod, status) = (primary.body["id"].clone(), primary.status().to_owned());
            shown.insert("dataCenterId".to_owned(), primary.body["dataCenterId"].clone());
            shown.insert(
                "network".to_owned(),
                json!({"cidr": "10.65.0.0/16", "vxlanId": 42, "vxlanPort": 4789}),
            );
            let mut primary = json!({"podId": pod, "status": status});
            if status == "RUNNING" {
                primary["sshEndpoint"] = json!("192.0.2.4:22001");
            }
            shown.insert("primary".to_owned(), primary);
        }
        Ok(Value::Object(shown))
    }

    pub(crate) fn list_cluster_pods(&mut self, id: &str) -> Result<Value, Refusal> {
        self.get_cluster(id)?;
        let members = self.members(id);
        let pods: Vec<_> = members.iter().filter_map(|pod| Some(&self.pods.get(pod)?.body)).collect();
        Ok(json!({"pods": pods}))
    }

    /// Only the name can be changed.
    pub(crate) fn update_cluster(&mut self, id: &str, change: Body) -> Result<Value, Refusal> {
        self.clusters.get_mut(id).ok_or_else(|| Refusal::not_found("cluster"))?.extend(change);
        self.get_cluster(id)
    }

    pub(crate) fn delete_cluster(&mut self, id: &str) -> Result<Value, Refusal> {
        self.clusters.remove(id).ok_or_else(|| Refusal::not_found("cluster"))?;
        for pod in self.members(id) {
            self.pods.remove(&pod);
        }
        Ok(Value::Null)
    }

    /// The pods of a cluster by rank.
    fn members(&self, id: &str) -> Vec<String> {
        let mut members: Vec<(u64, String)> = self
            .pods
            .iter()
            .filter(|(_, pod)| pod.body.get("cluster").is_some_and(|cluster| cluster["id"] == id))
            .map(|(pod, found)| (found.body["cluster"]["rank"].as_u64().unwrap_or_default(), pod.clone()))
            .collect();
        members.sort();
        members.into_iter().map(|(_, pod)| pod).collect()
    }
}
