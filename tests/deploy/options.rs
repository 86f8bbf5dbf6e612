//! What the binaries can be told: what their `--help` lists.

use clap::{ArgAction, Command, CommandFactory as _, builder::Resettable};

/// What OpenTelemetry and libraries read, and no flag is for.
const WITHOUT_FLAG: [&str; 5] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_SERVICE_NAME",
    "OTEL_SDK_DISABLED",
    "RAYON_NUM_THREADS",
];

/// One of the binaries that serve.
pub(crate) struct Service {
    /// Its name, without `emend-`.
    pub(crate) name: &'static str,
    /// Its name in health checks.
    pub(crate) grpc: &'static str,
    command: Command,
}

/// All of them.
pub(crate) fn services() -> Vec<Service> {
    let orchestrator = emend_orchestrator::Options::command();
    [
        ("orchestrator", emend_orchestrator::SERVICE_NAME, orchestrator),
        (
            "retriever",
            emend_retriever::SERVICE_NAME,
            emend_retriever::Options::command(),
        ),
        ("grader", emend_grader::SERVICE_NAME, emend_grader::Options::command()),
        (
            "generator",
            emend_generator::SERVICE_NAME,
            emend_generator::Options::command(),
        ),
        (
            "rewriter",
            emend_rewriter::SERVICE_NAME,
            emend_rewriter::Options::command(),
        ),
        // It speaks HTTP, and is probed so.
        ("gateway", "", emend_gateway::Options::command()),
        (
            "web-search",
            emend_web_search::SERVICE_NAME,
            emend_web_search::Options::command(),
        ),
    ]
    .map(|(name, grpc, command)| Service { name, grpc, command })
    .into()
}

/// The service with this command, as a container has it.
pub(crate) fn service_of(command: &str) -> Option<Service> {
    let name = command.strip_prefix("emend-")?;
    services().into_iter().find(|service| service.name == name)
}

impl Service {
    /// The port that it listens on when nobody says anything.
    pub(crate) fn port(&self) -> u64 {
        let listen = self
            .command
            .get_arguments()
            .find(|argument| argument.get_id() == "listen");
        let default = &listen.expect("--listen").get_default_values()[0];
        let (_, port) = default.to_str().unwrap().rsplit_once(':').unwrap();
        port.parse().unwrap()
    }

    /// The variables that it reads.
    pub(crate) fn variables(&self) -> Vec<String> {
        let named = self.command.get_arguments().filter_map(|argument| argument.get_env());
        named.map(|name| name.to_str().unwrap().to_owned()).collect()
    }

    /// What is wrong with a variable of its environment; a value that comes from elsewhere is `None`.
    pub(crate) fn problem(&self, variable: &str, value: Option<&str>) -> Option<String> {
        let argument = self
            .command
            .get_arguments()
            .find(|argument| argument.get_env().is_some_and(|name| name == variable));
        let Some(argument) = argument else {
            // Keys are read from the environment without a flag; the help says so.
            let help = self.command.clone().render_long_help().to_string();
            let is_key = variable.ends_with("_API_KEY") && help.contains(variable);
            return (!is_key && !WITHOUT_FLAG.contains(&variable))
                .then(|| format!("emend-{} does not read {variable}", self.name));
        };
        let flag = format!("--{}={}", argument.get_long().unwrap(), value?);
        // What the shell has that runs the tests is no part of what is deployed.
        let command = self
            .command
            .clone()
            .mut_args(|argument| argument.env(Resettable::Reset))
            // A switch has no value on the command line, and one in the environment.
            .mut_arg(argument.get_id(), |argument| match argument.get_action() {
                ArgAction::SetTrue => argument.action(ArgAction::Set).num_args(1),
                _ => argument,
            });
        let parsed = command.try_get_matches_from(["emend", &flag]);
        parsed
            .err()
            .map(|error| format!("emend-{}: {variable}: {error}", self.name))
    }
}
