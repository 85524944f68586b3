//! Tests that hold whatever the database is.

/// Makes two tests of each function: one with a world in a file, and one with a world in Postgres.
macro_rules! databases {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(crate::harness::World::sqlite().await).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    if let Some(world) = crate::harness::World::postgres().await {
                        super::$test(world).await;
                    }
                }
            )+
        }
    };
}
