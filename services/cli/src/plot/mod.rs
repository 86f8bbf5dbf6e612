pub(crate) fn reliability(_: &[(String, Vec<emend_models::evaluate::metrics::Bin>)]) -> anyhow::Result<String> {
    Ok(String::new())
}
