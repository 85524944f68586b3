# Writes the version of the project into its changes.
echo "# $(cat project/VERSION)" > project/CHANGES.md
