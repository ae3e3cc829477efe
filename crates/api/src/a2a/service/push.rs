//! Push configurations: set, read back without their secrets, deleted. Sending is not here.

use a2a::{
    A2AError, AuthenticationInfo, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
};
use factum_runtime::{PushConfig, PushTarget};
use secrecy::SecretString;

use super::fault::refused;
use super::{PROTOCOL, Service};

impl Service {
    pub(super) async fn set_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        check_url(&config.url)?;
        let task_id = config.task_id.clone();
        let row = self.find(&task_id).await?;
        let (scheme, credentials) = match config.authentication {
            Some(authentication) => (Some(authentication.scheme), authentication.credentials),
            None => (None, None),
        };
        let target = PushTarget {
            config_id: config.id,
            url: config.url,
            scheme: scheme.filter(|scheme| !scheme.is_empty()),
            token: config.token.map(SecretString::from),
            credentials: credentials.map(SecretString::from),
        };
        let set = self.runtime.set_push_target(&self.caller, PROTOCOL, &row, target).await;
        set.map(|config| shown(&task_id, config)).map_err(|refusal| refused(&refusal, &task_id))
    }

    pub(super) async fn get_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        let configs = self.configs(&request.task_id).await?;
        let found = configs.into_iter().find(|config| config.config_id == request.id);
        // A configuration has no error of its own: what is not there is not found, like its task.
        found.map(|config| shown(&request.task_id, config)).ok_or_else(|| A2AError::task_not_found(&request.task_id))
    }

    /// Bounded by `push_configs_max`, so all of them are one page.
    pub(super) async fn list_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        let configs = self.configs(&request.task_id).await?;
        let configs = configs.into_iter().map(|config| shown(&request.task_id, config)).collect();
        Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token: None })
    }

    pub(super) async fn delete_config(&self, request: DeleteTaskPushNotificationConfigRequest) -> Result<(), A2AError> {
        let row = self.find(&request.task_id).await?;
        let deleted = self.runtime.delete_push_target(&self.caller, &row, &request.id).await;
        deleted.map_err(|refusal| refused(&refusal, &request.task_id))
    }

    async fn configs(&self, task_id: &str) -> Result<Vec<PushConfig>, A2AError> {
        let row = self.find(task_id).await?;
        self.runtime.push_targets(&self.caller, &row).await.map_err(|refusal| refused(&refusal, task_id))
    }
}

/// What is read back: everything but the secrets.
fn shown(task_id: &str, config: PushConfig) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: config.url,
        id: Some(config.config_id),
        task_id: task_id.to_owned(),
        token: None,
        authentication: config.scheme.map(|scheme| AuthenticationInfo { scheme, credentials: None }),
        tenant: None,
    }
}

/// Whether an address can be one at all. Whether it may be called is decided when it is.
fn check_url(url: &str) -> Result<(), A2AError> {
    let refuse = || A2AError::invalid_params("url: a push configuration needs an absolute http or https address");
    let uri: http::Uri = url.parse().map_err(|_| refuse())?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.host().is_some_and(|host| !host.is_empty());
    let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if known && host && plain { Ok(()) } else { Err(refuse()) }
}
