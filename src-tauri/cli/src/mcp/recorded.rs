//! Calls of methods that this server has not: refused by JSON-RPC's own code, and in the journal like every other try.

use super::Agent;
use rmcp::model::{ClientNotification, ErrorCode, ProtocolVersion};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::borrow::Cow;

const NO_SUCH_METHOD: &str = "there is no such method. A source proposes and asks by its tools; approving, sending, editing and settling is a person's";

/// The agent's own service, with a look at what it does not know.
pub(super) struct Recorded(pub(super) Agent);

impl Service<RoleServer> for Recorded {
    async fn handle_request(
        &self,
        request: <RoleServer as ServiceRole>::PeerReq,
        context: RequestContext<RoleServer>,
    ) -> Result<<RoleServer as ServiceRole>::Resp, ErrorData> {
        let method = request.method().to_owned();
        let answer = Service::handle_request(&self.0, request, context).await;
        match answer {
            Err(e) if e.code == ErrorCode::METHOD_NOT_FOUND => {
                self.0.record(&method, NO_SUCH_METHOD).await;
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, NO_SUCH_METHOD, None))
            }
            answer => answer,
        }
    }

    async fn handle_notification(
        &self,
        notification: <RoleServer as ServiceRole>::PeerNot,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // JSON-RPC answers no notification; a try it is all the same.
        if let ClientNotification::CustomNotification(unknown) = &notification {
            self.0.record(&unknown.method, NO_SUCH_METHOD).await;
        }
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> <RoleServer as ServiceRole>::Info {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
