pub(crate) fn run(bytes: &[u8]) {
    gpuaas_domain::expression::fuzz_one(bytes);
}
