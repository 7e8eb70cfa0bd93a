use super::*;

fn gpu(id: &str, memory: i64, secure: f64, community: f64, availability: &str) -> Value {
    json!({
        "id": id, "name": id, "pool": null, "manufacturer": "NVIDIA", "memory": memory, "secure": secure > 0.0,
        "community": community > 0.0, "price": {"secure": secure, "community": community},
        "maxCount": {"secure": 8, "community": 2}, "availability": availability,
        "dataCenters": [
            {"id": "US-KS-2", "name": "Kansas", "availability": "LOW"},
            {"id": "EU-RO-1", "name": "Romania", "availability": "HIGH"},
            {"id": "EU-SE-1", "name": "Sweden", "availability": "NONE"},
        ],
    })
}

fn kept(gpu: &Value, config: &GpuTypes) -> bool {
    fits(&found(gpu, config).unwrap(), config)
}

#[test]
fn the_price_and_the_maximum_are_those_of_the_selected_cloud() {
    let config = GpuTypes { cloud: Cloud::Community.into(), ..GpuTypes::default() };
    let both = gpu("A", 24, 0.44, 0.31, "HIGH");
    let found_there = found(&both, &config).unwrap();
    assert_eq!((found_there.price, found_there.max_count), (0.31.into(), 2.into()));
    assert_eq!(found_there.data_center_ids, Attr::Known(vec!["EU-RO-1".to_owned(), "US-KS-2".to_owned()]));
    assert_eq!(found(&both, &GpuTypes::default()).unwrap().price, 0.44.into());
    assert!(!kept(&gpu("A", 24, 0.44, 0.0, "HIGH"), &config), "the cloud does not offer it");
}

#[test]
fn types_that_do_not_fit_are_left_out() {
    let all = gpu("A", 24, 0.44, 0.31, "LOW");
    let with = |config: GpuTypes| kept(&all, &config);
    assert!(with(GpuTypes::default()));
    assert!(!with(GpuTypes { min_memory: 25.into(), ..GpuTypes::default() }));
    assert!(!with(GpuTypes { max_price: 0.43.into(), ..GpuTypes::default() }));
    assert!(with(GpuTypes {
        max_price: 0.44.into(),
        min_memory: 24.into(),
        gpu_count: 8.into(),
        ..GpuTypes::default()
    }));
    assert!(!with(GpuTypes { gpu_count: 9.into(), ..GpuTypes::default() }));
    let none = gpu("A", 24, 0.44, 0.31, "NONE");
    assert!(!kept(&none, &GpuTypes::default()));
    assert!(kept(&none, &GpuTypes { in_stock: false.into(), ..GpuTypes::default() }));
}

#[test]
fn the_query_names_one_product_and_separates_lists_by_commas() {
    let config = GpuTypes {
        gpu_count: 8.into(),
        country_codes: Attr::Known(vec!["FR".to_owned(), "DE".to_owned()]),
        min_cuda_version: "12.4".into(),
        product: Product::Cluster.into(),
        ..GpuTypes::default()
    };
    let told: Vec<String> =
        query(&config).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        told.join("&"),
        "include=AVAILABILITY&product=CLUSTER&cloud=SECURE&count=8&countryCodes=FR,DE&minCudaVersion=12.4"
    );
}
